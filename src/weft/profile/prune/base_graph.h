// SPDX-License-Identifier: Apache-2.0
// The graph that a layer had while it was profiled: its pattern over the positions of the longest text, and what is
// left of it behind a mask.
#pragma once

#include <bit>
#include <cstdint>

#include "weft/pattern/pattern.h"
#include "weft/profile/attention_profile.h"
#include "weft/profile/prune/mask.h"

namespace weft::profile {

struct BaseGraph {
  pattern::Pattern pattern;
  pattern::Site site;
  pattern::BlockLayout layout;  ///< tiles of 64 x 64
};

/// Of a part that has sums. Files of the expression lie below `directory`. Errors: kUnsupported for a mechanism that is
/// no pattern, and for a pattern that names `input`, whose edges differ from text to text; those of compile.
BaseGraph base_graph(const Part& part, const std::filesystem::path& directory = {});

/// Bit b says whether `query` has an edge to the key 64 * (key block) + b, in block `block` of a row of `layout`.
std::uint64_t keys_of_block(const pattern::BlockLayout& layout, std::int64_t block, std::int64_t query);

/// Calls visit(query, key) for every edge of a head, in their order.
template <typename Visit>
void for_each_edge(const pattern::BlockLayout& layout, std::int64_t head, const Visit& visit) {
  const pattern::LayoutView view = layout.view();
  for (std::int64_t query = 0; query < layout.query_length; ++query) {
    const pattern::BlockRange row = view.row(0, head, query / layout.tile.query);
    for (std::int64_t block = row.begin; block < row.end; ++block) {
      const std::int64_t first = std::int64_t{layout.key_block[static_cast<std::size_t>(block)]} * 64;
      for (std::uint64_t rest = keys_of_block(layout, block, query); rest != 0; rest &= rest - 1) {
        visit(query, first + std::countr_zero(rest));
      }
    }
  }
}

/// The layout of the edges in cells that `mask` keeps: what a kernel computes of the pruned pattern. Multiplicities of
/// the base are left out.
pattern::BlockLayout masked_layout(const pattern::BlockLayout& base, const Mask& mask);

}  // namespace weft::profile
