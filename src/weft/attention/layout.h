// SPDX-License-Identifier: Apache-2.0
// A compiled layout as the LibTorch side holds it: immutable, shared, tied to its lengths and heads, with the transpose
// made when it is first asked for, and a cache so that a pattern is compiled once per length.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <typeindex>
#include <vector>

#include "weft/pattern/pattern.h"

namespace weft::attention {

class Layout {
 public:
  explicit Layout(pattern::BlockLayout blocks, std::string expression = {});

  const pattern::BlockLayout& blocks() const noexcept { return blocks_; }
  const std::string& expression() const noexcept { return expression_; }
  /// Built on first use; thread-safe.
  const pattern::LayoutTranspose& transpose() const;
  /// What a backend makes of the blocks and keeps with them, one of each type; built on first use; thread-safe.
  template <typename Kept>
  const Kept& kept(Kept (*make)(const pattern::BlockLayout& blocks)) const {
    const auto make_any = [make](const pattern::BlockLayout& blocks) -> std::shared_ptr<const void> {
      return std::make_shared<const Kept>(make(blocks));
    };
    return *static_cast<const Kept*>(kept_of(typeid(Kept), make_any));
  }
  /// Whether every head is exactly `full`, or exactly `causal` with equal lengths: then dense SDPA computes the same.
  bool is_full() const;
  bool is_causal() const;
  /// Throws kArgument that names both when query/key lengths or heads differ from the layout's, or the batch does not
  /// fit.
  void check(std::int64_t batch, std::int64_t heads, std::int64_t query_length, std::int64_t key_length) const;

 private:
  using MakeAny = std::function<std::shared_ptr<const void>(const pattern::BlockLayout&)>;
  const void* kept_of(std::type_index type, const MakeAny& make) const;

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
