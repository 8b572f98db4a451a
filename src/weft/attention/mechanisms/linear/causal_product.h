// SPDX-License-Identifier: Apache-2.0
// The running sums of causal linear attention: what all mechanisms that replace the softmax by features have in common.
#pragma once

#include <ATen/core/Tensor.h>

namespace weft::attention {

/// rows [..., N, r], keys [..., N, r], values [..., N, c], sums [..., r, c] or undefined for zeros; float32 or float64.
/// Leading dimensions are as many for all and broadcast. -> [..., N, c], differentiable:
///   output_i = rows_i (sums + sum_{j <= i} keys_j^T values_j).
/// Chunks of 64 rows: pairs inside a chunk meet in a masked product, those before it in the sum [r, c] that is carried
/// (Katharopoulos et al. 2020, section 3.3; chunks as in Hua et al. 2022). Memory is proportional to N, backwards too:
/// the gradients are the same sums, those of keys and values from the last row to the first. Not finite numbers of a
/// chunk reach all of its rows.
at::Tensor causal_product(const at::Tensor& rows, const at::Tensor& keys, const at::Tensor& values,
                          const at::Tensor& sums);

}  // namespace weft::attention
