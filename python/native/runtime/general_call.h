// SPDX-License-Identifier: Apache-2.0
// A call of weft::attend_general: weft::attend for every dtype that libweft computes in, float64 above all.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "weft/attention/call.h"

namespace weft::python {

/// query [B, H, Q, D], key [B, H_kv, K, D], value [B, H_kv, K, D_v], any strides.
struct GeneralInputs {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  std::optional<at::Tensor> key_keep;   ///< bool [B, K]; false marks a padded key
  std::optional<at::Tensor> seed;       ///< int64, one element; needed where dropout is positive
  std::optional<at::Tensor> distances;  ///< [H, 1 or 2, span], float64 for float64, else float32
};

/// What is the same for every call of a layer.
struct GeneralSettings {
  std::string pattern;  ///< an expression, or the name of a layout that weft::keep_layout was given
  std::int64_t query_offset = 0;
  std::int64_t layer = 0;
  std::int64_t distance_zero = 0;
  double scale = 1;
  double dropout = 0;
};

/// As weft::attend and weft::attend_backward have them; log_sum_exp in float64 for float64. Errors: kArgument for
/// shapes and dtypes that do not fit, kExpression for the pattern.
attention::Forward attend_general(const GeneralInputs& inputs, const GeneralSettings& settings);
attention::Gradients attend_general_backward(const at::Tensor& output_gradient, const GeneralInputs& inputs,
                                             const attention::Forward& forward, const GeneralSettings& settings);

}  // namespace weft::python
