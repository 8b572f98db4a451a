// SPDX-License-Identifier: Apache-2.0
// The running sums of causal linear attention: what all mechanisms that replace the softmax by features have in common.
#pragma once

#include <ATen/core/Tensor.h>

namespace weft::attention {

/// rows [..., N, r], keys [..., N, r], values [..., N, c], sums [..., r, c] or undefined for zeros; float32 or float64.
/// Leading dimensions are as many for all and broadcast. -> [..., N, c], differentiable:
///   output_i = rows_i (sums + sum_{j <= i} keys_j^T values_j).
/// `levels` [..., N + 1], of as many leading dimensions, rising or equal and without gradients, are logarithms of a
/// factor that rows are divided by, for sums that would leave the range of the dtype; the first is that of `sums`:
///   output_i = rows_i (exp(levels_0 - levels_(i+1)) sums + sum_{j <= i} exp(levels_(j+1) - levels_(i+1)) keys_j^T
///   v_j).
/// Chunks of 64 rows: pairs inside a chunk meet in a masked product, those before it in the sum [r, c] that is carried
/// (Katharopoulos et al. 2020, section 3.3; chunks as in Hua et al. 2022). Memory is proportional to N, backwards too:
/// the gradients are the same sums, those of keys and values from the last row to the first. Not finite numbers of a
/// chunk reach all of its rows.
at::Tensor causal_product(const at::Tensor& rows, const at::Tensor& keys, const at::Tensor& values,
                          const at::Tensor& sums, const at::Tensor& levels = {});

}  // namespace weft::attention
