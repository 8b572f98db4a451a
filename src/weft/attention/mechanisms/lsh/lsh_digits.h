// SPDX-License-Identifier: Apache-2.0
// Numbers of buckets as columns behind the keys that a decoder remembers, in the dtype of the keys.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace weft::attention {

/// Columns that a number up to `largest` takes: a digit is exact in every dtype of a state.
std::int64_t digits_for(std::int64_t largest);

/// int64 [B, H, R, N] -> [B, H, N, R * digits] in the dtype of `like`.
at::Tensor digits_of(const at::Tensor& numbers, std::int64_t digits, const at::Tensor& like);

/// The inverse, of the R * digits columns of [B, H, N, R * digits].
at::Tensor numbers_of_digits(const at::Tensor& columns, std::int64_t digits);

}  // namespace weft::attention
