// SPDX-License-Identifier: Apache-2.0
// A pruned layout is the base's with fewer bits: each head becomes a group of its own.
#include "weft/profile/prune/base_graph.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::profile {
namespace {

constexpr pattern::Tile kTile{64, 64};

// The bits of the keys that exist in a block.
std::uint64_t existing_keys(const pattern::BlockLayout& layout, std::int64_t block) {
  const std::int64_t first = std::int64_t{layout.key_block[static_cast<std::size_t>(block)]} * 64;
  const std::int64_t keys = std::min<std::int64_t>(64, layout.key_length - first);
  return keys == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << keys) - 1;
}

void append_block(pattern::BlockLayout& layout, std::int32_t key_block, const std::array<std::uint64_t, 64>& rows,
                  bool is_full) {
  layout.key_block.push_back(key_block);
  if (is_full) {
    layout.kind.push_back(pattern::kFullBlock);
    return;
  }
  layout.kind.push_back(static_cast<std::int32_t>(layout.mask_bits.size() / rows.size()));
  layout.mask_bits.insert(layout.mask_bits.end(), rows.begin(), rows.end());
}

}  // namespace

BaseGraph base_graph(const Part& part, const std::filesystem::path& directory) {
  std::optional<pattern::Pattern> parsed;
  try {
    parsed = pattern::Pattern::parse(part.site.expression, directory);
  } catch (const Error& error) {
    throw Error(error.kind() == ErrorKind::kExpression ? ErrorKind::kUnsupported : error.kind(),
                concat(part.site.name, " attends by ", quote(part.site.expression),
                       ", whose graph is not known: ", error.what()),
                "profile a model that attends by a pattern: `full`, `causal`, `window(512)` and the like");
  }
  if (parsed->needs_input()) {
    fail(ErrorKind::kUnsupported, part.site.name, ": the pattern ", quote(part.site.expression),
         " names `input`, so that its edges differ from text to text and cannot be pruned by position");
  }
  pattern::Site site;
  site.query_length = part.sums.queries();
  site.key_length = part.sums.keys();
  site.heads = part.site.heads;
  site.layer = part.site.layer;
  site.maximum_length = part.site.maximum_length;
  pattern::BlockLayout layout = pattern::compile(*parsed, site, kTile);
  return {*parsed, site, std::move(layout)};
}

std::uint64_t keys_of_block(const pattern::BlockLayout& layout, std::int64_t block, std::int64_t query) {
  const std::int32_t kind = layout.kind[static_cast<std::size_t>(block)];
  return pattern::keys_of_row(layout, kind, query % kTile.query) & existing_keys(layout, block);
}

pattern::BlockLayout masked_layout(const pattern::BlockLayout& base, const Mask& mask) {
  pattern::BlockLayout layout;
  layout.tile = base.tile;
  layout.query_length = base.query_length;
  layout.key_length = base.key_length;
  layout.heads = base.heads;
  layout.groups = base.heads;
  layout.row_begin.push_back(0);
  const pattern::LayoutView view = base.view();
  for (std::int64_t head = 0; head < base.heads; ++head) {
    layout.group.push_back(static_cast<std::int32_t>(head));
    std::int64_t edges = 0;
    for (std::int64_t row = 0; row < base.query_blocks(); ++row) {
      const pattern::BlockRange blocks = view.row(0, head, row);
      const std::int64_t queries = std::min<std::int64_t>(kTile.query, base.query_length - row * kTile.query);
      for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
        const std::int32_t key_block = base.key_block[static_cast<std::size_t>(block)];
        std::array<std::uint64_t, 64> rows{};
        std::int64_t count = 0;
        bool is_full = true;
        for (std::int64_t query = 0; query < queries; ++query) {
          const std::int64_t position = row * kTile.query + query;
          auto& bits = rows[static_cast<std::size_t>(query)];
          bits = keys_of_block(base, block, position) & mask.keys_of(head, position, key_block);
          is_full = is_full && bits == existing_keys(base, block);
          count += std::popcount(bits);
        }
        if (count > 0) {
          append_block(layout, key_block, rows, is_full);
        }
        edges += count;
      }
      layout.row_begin.push_back(layout.blocks());
    }
    layout.group_edges.push_back(edges);
  }
  return layout;
}

}  // namespace weft::profile
