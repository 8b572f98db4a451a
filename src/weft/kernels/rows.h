// SPDX-License-Identifier: Apache-2.0
// Addresses of rows in strided arrays, and the three operations on a row of numbers that plain attention consists of.
#pragma once

#include <cstdint>

#include "weft/kernels/arguments.h"

namespace weft::kernels {

/// Which row of a [batch, heads, rows, columns] array.
struct RowIndex {
  std::int64_t batch;
  std::int64_t head;
  std::int64_t row;
};

template <typename Storage, typename Pointer>
[[gnu::always_inline]] inline auto row_of(const Array4<Pointer>& array, const RowIndex& at) noexcept {
  const std::int64_t offset = at.batch * array.batch_stride + at.head * array.head_stride + at.row * array.row_stride;
  if constexpr (requires(Pointer pointer) { static_cast<typename Storage::Memory*>(pointer); }) {
    return static_cast<typename Storage::Memory*>(array.data) + offset;
  } else {
    return static_cast<const typename Storage::Memory*>(array.data) + offset;
  }
}

template <typename Storage>
typename Storage::Sum dot(const typename Storage::Memory* a, const typename Storage::Memory* b,
                          std::int64_t count) noexcept {
  typename Storage::Sum sum = 0;
  for (std::int64_t at = 0; at < count; ++at) {
    sum += Storage::load(a + at) * Storage::load(b + at);
  }
  return sum;
}

template <typename Storage>
bool is_finite_row(const typename Storage::Memory* row, std::int64_t count) noexcept {
  typename Storage::Sum sum = 0;
  for (std::int64_t at = 0; at < count; ++at) {
    sum += 0 * Storage::load(row + at);  // 0 x number is 0 for finite numbers only
  }
  return sum == 0;
}

/// sums += factor * row.
template <typename Storage>
void add_row(typename Storage::Sum* sums, typename Storage::Sum factor, const typename Storage::Memory* row,
             std::int64_t count) noexcept {
  for (std::int64_t at = 0; at < count; ++at) {
    sums[at] += factor * Storage::load(row + at);
  }
}

/// row = factor * sums, rounded to the storage.
template <typename Storage>
void store_row(typename Storage::Memory* row, const typename Storage::Sum* sums, typename Storage::Sum factor,
               std::int64_t count) noexcept {
  for (std::int64_t at = 0; at < count; ++at) {
    Storage::store(row + at, factor * sums[at]);
  }
}

}  // namespace weft::kernels
