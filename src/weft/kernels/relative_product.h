// SPDX-License-Identifier: Apache-2.0
// The row of R that a pair of positions has, and its product. What panels add is tested against this. No STL container
// here: files compiled for one instruction set include this header.
#pragma once

#include <cstdint>

#include "weft/kernels/arguments.h"
#include "weft/kernels/rows.h"

namespace weft::kernels {

[[gnu::always_inline]] inline bool has_relative(const AttentionArguments& arguments) noexcept {
  return arguments.relative.query.data != nullptr;
}

/// The entry of a pair; `query` counts from the first query.
[[gnu::always_inline]] inline std::int64_t relative_entry(const RelativeProduct& relative, std::int64_t query,
                                                          std::int64_t key) noexcept {
  const std::int64_t entry = query + relative.query_offset - key + relative.zero;
  return entry < 0 ? 0 : (entry < relative.span ? entry : relative.span - 1);
}

template <typename Storage>
[[gnu::always_inline]] inline const typename Storage::Memory* relative_row(const AttentionArguments& arguments,
                                                                           std::int64_t head,
                                                                           std::int64_t entry) noexcept {
  return row_of<Storage>(arguments.relative.rows, {0, head, entry});
}

/// Q2 . R of a pair; 0 without a relative product.
template <typename Storage>
typename Storage::Sum relative_score(const AttentionArguments& arguments, const RowIndex& query,
                                     std::int64_t key) noexcept {
  if (!has_relative(arguments)) {
    return 0;
  }
  const std::int64_t entry = relative_entry(arguments.relative, query.row, key);
  return dot<Storage>(row_of<Storage>(arguments.relative.query, query),
                      relative_row<Storage>(arguments, query.head, entry), arguments.head_dim);
}

}  // namespace weft::kernels
