// SPDX-License-Identifier: Apache-2.0
// Rows of all heads in another order: copies of whole rows, in parallel, with the gradients added back. An undefined
// order is that of the rows themselves, which copies nothing.
#pragma once

#include <ATen/core/Tensor.h>

namespace weft::attention {

/// rows [B, H, N, C] at `order`, int64 [B or 1, H or 1, P] -> [B, H, P, C].
at::Tensor rows_at(const at::Tensor& rows, const at::Tensor& order);

/// The same of one number a row: [B, H, N] -> contiguous [B, H, P].
at::Tensor numbers_at(const at::Tensor& numbers, const at::Tensor& order);

/// Adds `added` [B, H, P, C] to the rows of `sums` [B, H, N, C], contiguous, that `order` names; rows may repeat.
void add_rows_at(const at::Tensor& sums, const at::Tensor& order, const at::Tensor& added);

/// The inverse of a permutation in the last dimension: the place of each row. int64 [B, H, N].
at::Tensor places_of(const at::Tensor& order);

}  // namespace weft::attention
