// SPDX-License-Identifier: Apache-2.0
// A call of weft::attend as the kernels take it: tensors that fit, and the layout of the expression at their lengths.
#pragma once

#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "weft/attention/layout.h"
#include "weft/kernels/arguments.h"

namespace weft::python {

using torch::stable::Tensor;

/// query [B, H, Q, D], key [B, H_kv, K, D], value [B, H_kv, K, D_v]: float32, bfloat16 or float16, any strides.
struct Inputs {
  Tensor query;
  Tensor key;
  Tensor value;
  std::optional<Tensor> key_keep;   ///< bool [B, K]; false marks a padded key
  std::optional<Tensor> seed;       ///< int64, one element; needed where dropout is positive
  std::optional<Tensor> distances;  ///< float32 [H, 1 or 2, span]: kernels::DistanceTable
};

/// What is the same for every call of a layer.
struct Settings {
  std::string pattern;
  std::int64_t query_offset = 0;
  std::int64_t layer = 0;
  std::int64_t distance_zero = 0;
  double scale = 1;
  double dropout = 0;
};

struct Forward {
  Tensor output;       ///< [B, H, Q, D_v] in the dtype of query; in memory [B, Q, H, D_v]
  Tensor log_sum_exp;  ///< float32 [B, H, Q]; -infinity where a row has no edges
};

struct Gradients {
  Tensor query;
  Tensor key;
  Tensor value;
  Tensor distances;  ///< as Inputs::distances; without them no elements
};

/// Errors: kArgument for shapes and dtypes that do not fit, kExpression for the pattern, kUnsupported for a dtype that
/// this operator does not have.
Forward attend(const Inputs& inputs, const Settings& settings);
Gradients attend_backward(const Tensor& output_gradient, const Inputs& inputs, const Forward& forward,
                          const Settings& settings);

}  // namespace weft::python
