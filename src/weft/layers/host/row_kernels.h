// SPDX-License-Identifier: Apache-2.0
// Passes of a training step over large tensors on a CPU, in this processor's vectors where it has kernels for them and
// by LibTorch elsewhere.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "weft/kernels/fused.h"

namespace weft::layers {

/// The kernels' name for the dtype of x where they compute with it: float32 or bfloat16 in host memory, contiguous, on
/// a processor that has vectors.
std::optional<kernels::DType> kernel_dtype(const at::Tensor& x);

/// x [rows, columns] -> [columns] in `dtype`, at least float32 within: the gradient of a bias.
at::Tensor column_sums(const at::Tensor& x, at::ScalarType dtype);

/// total += part of the same shape, or with `is_first` total = part, whatever was there.
void add_part(at::Tensor& total, const at::Tensor& part, bool is_first);

/// GELU by its tanh approximation, x of any shape; without a graph.
at::Tensor gelu_tanh(const at::Tensor& x);
/// gradient g'(x) for this g.
at::Tensor gelu_tanh_backward(const at::Tensor& gradient, const at::Tensor& x);

/// What the losses of rows of scores are taken with.
struct RowLoss {
  double smoothing = 0.0;
  double scale = 1.0;  ///< of gradients
  bool gathers = false;
};

/// Whether row_losses() takes these scores [rows, V] with a bias [V] or none.
bool takes_row_losses(const at::Tensor& scores, const at::Tensor& bias);
/// Cross entropy of each row into `losses` [rows, 1] float32, labels int64 [rows, 1]; where `gathers`, scores become
/// (softmax - target) * scale.
void row_losses(const at::Tensor& scores, const at::Tensor& bias, const at::Tensor& labels, const RowLoss& how,
                const at::Tensor& losses);

}  // namespace weft::layers
