// SPDX-License-Identifier: Apache-2.0
// Running sums that forget: causal_product() where each key leaves only a part of the sums before it.
#pragma once

#include <ATen/core/Tensor.h>

namespace weft::attention {

/// rows and keys [..., N, r], values [..., N, c], log_gates [..., N] at most 0, sums [..., r, c] or undefined for
/// zeros; float32 or float64. -> [..., N, c], differentiable:
///   output_i = rows_i S_i,  S_i = exp(log_gates_i) S_(i-1) + keys_i^T values_i,  S_0 = sums.
/// Chunks of 64 rows: inside a chunk pairs i >= j meet in a product with exp(sum of log_gates behind j, up to i), so
/// that no exponent is positive; from chunk to chunk one sum is carried. Memory is proportional to N, backwards too.
at::Tensor decayed_product(const at::Tensor& rows, const at::Tensor& keys, const at::Tensor& values,
                           const at::Tensor& log_gates, const at::Tensor& sums);

/// The last S alone is `kept` sums + keys^T values: what is left of each key, and of the sums before the first.
struct Decayed {
  at::Tensor keys;  ///< [..., N, r]
  at::Tensor kept;  ///< [..., 1, 1]
};
Decayed decayed_keys(const at::Tensor& keys, const at::Tensor& log_gates);

}  // namespace weft::attention
