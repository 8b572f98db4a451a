// SPDX-License-Identifier: Apache-2.0
// A compiled layout as the LibTorch side holds it: immutable, shared, tied to its lengths and heads, with the transpose
// made when it is first asked for, and a cache so that a pattern is compiled once per length.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/pattern/pattern.h"

namespace weft::attention {

struct RowBatches;  // how the portable path batches the blocks, see blocks/row_batches.h

class Layout {
 public:
  explicit Layout(pattern::BlockLayout blocks, std::string expression = {});

  const pattern::BlockLayout& blocks() const noexcept { return blocks_; }
  const std::string& expression() const noexcept { return expression_; }
  /// Built on first use; thread-safe.
  const pattern::LayoutTranspose& transpose() const;
  /// Built on first use; thread-safe.
  const RowBatches& row_batches() const;
  /// Whether every head is exactly `full`, or exactly `causal` with equal lengths: then dense SDPA computes the same.
  bool is_full() const;
  bool is_causal() const;
  /// Throws kArgument that names both when query/key lengths or heads differ from the layout's, or the batch does not
  /// fit.
  void check(std::int64_t batch, std::int64_t heads, std::int64_t query_length, std::int64_t key_length) const;

 private:
  pattern::BlockLayout blocks_;
  std::string expression_;
  struct Lazy;
  std::shared_ptr<Lazy> lazy_;
};

using LayoutPtr = std::shared_ptr<const Layout>;

/// compile() behind least-recently-used caches, keyed by pattern, site, tile and rows: one of 64 layouts or 256 MB, one
/// of 16 or 16 MB for layouts of a single query, which decoding asks for once a token. Thread-safe.
LayoutPtr cached_layout(const pattern::Pattern& pattern, const pattern::Site& site, pattern::Tile tile,
                        std::span<const pattern::RowBinding> rows = {});

}  // namespace weft::attention
