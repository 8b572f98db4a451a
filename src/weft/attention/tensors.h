// SPDX-License-Identifier: Apache-2.0
// Small things that all paths do to tensors: dtypes of products, shared key heads, padding.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/repeat_interleave.h>

#include "weft/attention/accumulation.h"
#include "weft/core/cpu.h"

namespace weft::attention {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The dtype that LibTorch's fused CPU attention is given. Half types are multiplied in float32 where the processor is
/// slow at them: rounded storage around float32 products.
inline at::ScalarType fused_type(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kBFloat16 && has_fast_bfloat16() ? at::kBFloat16 : accumulation_type(tensor);
}

/// Whatever attention returns of shape [B, H, N, C] lies in memory as batch, length, head, column, on every path and
/// whatever the order of its inputs: a model that splits its heads by a transposed view joins them again without a
/// copy, and a tracer knows the strides from the shapes.
inline at::Tensor empty_heads(at::IntArrayRef sizes, const at::TensorOptions& options) {
  return at::empty({sizes[0], sizes[2], sizes[1], sizes[3]}, options).transpose(1, 2);
}

/// `tensor` with the strides of a new one: itself, or a copy. contiguous() keeps others where a dimension is 1.
inline at::Tensor with_new_strides(const at::Tensor& tensor) {
  std::int64_t stride = 1;
  for (std::int64_t dimension = tensor.dim() - 1; dimension >= 0; --dimension) {
    if (tensor.stride(dimension) != stride) {
      return tensor.clone(at::MemoryFormat::Contiguous);
    }
    stride *= std::max<std::int64_t>(tensor.size(dimension), 1);
  }
  return tensor;
}

/// `tensor` [B, H, N, C] in the order of empty_heads().
inline at::Tensor in_memory_order(const at::Tensor& tensor) {
  return with_new_strides(tensor.transpose(1, 2)).transpose(1, 2);
}

/// [B, H_kv, N, C] -> [B, heads, N, C]: each key head once for every query head of its group.
inline at::Tensor repeat_key_heads(const at::Tensor& tensor, std::int64_t heads) {
  return tensor.size(1) == heads ? tensor : tensor.repeat_interleave(heads / tensor.size(1), 1);
}

/// The gradient of repeat_key_heads: [B, heads, N, C] -> the shape and dtype of `key`.
inline at::Tensor sum_key_heads(const at::Tensor& gradient, const at::Tensor& key) {
  if (gradient.size(1) == key.size(1)) {
    return gradient.to(key.scalar_type());
  }
  return gradient.unflatten(1, {key.size(1), gradient.size(1) / key.size(1)}).sum(2).to(key.scalar_type());
}

/// `tensor` [B, heads, K, C] with the padded keys set to zero: NaN or infinity in padded memory would survive a product
/// with probability zero.
inline at::Tensor without_padding(const at::Tensor& tensor, const at::Tensor& key_keep) {
  return key_keep.defined() ? tensor.masked_fill(key_keep.logical_not().unsqueeze(1).unsqueeze(-1), 0.0) : tensor;
}

/// Whether autograd follows one of them, of those that are defined: backwards, or by a tangent forwards, which no_grad
/// does not turn off.
inline bool any_is_followed(std::initializer_list<at::Tensor> tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& tensor) {
    return tensor.defined() && ((at::GradMode::is_enabled() && tensor.requires_grad()) || tensor._fw_grad(0).defined());
  });
}

/// Whether no entry is NaN or infinite, in one reduction a tensor and one question to the device: both survive sums.
/// False may also mean that a sum left the range of the dtype; true is certain.
inline bool all_finite(std::initializer_list<at::Tensor> tensors) {
  at::Tensor sum;
  for (const at::Tensor& tensor : tensors) {
    const at::Tensor own = tensor.sum(accumulation_type(tensor));
    sum = sum.defined() ? sum + own : own;
  }
  return std::isfinite(sum.item<double>());
}

}  // namespace weft::attention
