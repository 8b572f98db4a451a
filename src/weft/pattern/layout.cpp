// SPDX-License-Identifier: Apache-2.0
// What a finished layout says about itself, and its blocks by columns.
#include "weft/pattern/layout.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace weft::pattern {
namespace {

/// Sums `per_group` over the heads of the first batch row.
template <typename PerGroup>
std::int64_t sum_over_heads(const BlockLayout& layout, const PerGroup& per_group) {
  std::vector<std::int64_t> values;
  values.reserve(static_cast<std::size_t>(layout.groups));
  for (std::int64_t group = 0; group < layout.groups; ++group) {
    values.push_back(per_group(group));
  }
  std::int64_t sum = 0;
  for (std::int64_t head = 0; head < layout.heads && !layout.group.empty(); ++head) {
    sum += values[static_cast<std::size_t>(layout.group[static_cast<std::size_t>(head)])];
  }
  return sum;
}

/// Calls `visit(query_block, block)` for the blocks of a group, row by row.
template <typename Visit>
void for_each_block(const BlockLayout& layout, std::int64_t group, const Visit& visit) {
  const std::int64_t query_blocks = layout.query_blocks();
  for (std::int64_t row = 0; row < query_blocks; ++row) {
    const auto at = static_cast<std::size_t>(group * query_blocks + row);
    for (std::int64_t block = layout.row_begin[at]; block < layout.row_begin[at + 1]; ++block) {
      visit(row, static_cast<std::size_t>(block));
    }
  }
}

template <typename Values>
std::size_t bytes_of(const Values& values) {
  return values.size() * sizeof(values[0]);
}

/// Edges of one query of a block, over its first `keys` keys.
std::int64_t row_edges(const BlockLayout& layout, std::size_t block, std::int64_t query, std::int64_t keys) {
  const LayoutView view = layout.view();
  const std::int32_t kind = layout.kind[block];
  if (is_full(kind)) {
    return keys;
  }
  std::int64_t edges = 0;
  if (is_partial(kind)) {
    const std::uint64_t* words = view.mask(kind) + query * view.words();
    for (std::int64_t word = 0; word < view.words(); ++word) {
      edges += std::popcount(words[word]);
    }
    return edges;
  }
  const float* weights = view.weight(kind) + query * layout.tile.key;
  for (std::int64_t key = 0; key < keys; ++key) {
    edges += weights[key] > -std::numeric_limits<float>::infinity() ? 1 : 0;
  }
  return edges;
}

}  // namespace

std::uint64_t keys_of_row(const BlockLayout& layout, std::int32_t kind, std::int64_t row) {
  constexpr std::int64_t kKeys = 64;
  if (is_full(kind)) {
    return ~std::uint64_t{0};
  }
  if (is_partial(kind)) {
    return layout.mask_bits[static_cast<std::size_t>(std::int64_t{kind} * layout.tile.query + row)];
  }
  const std::int64_t first = (std::int64_t{weight_index(kind)} * layout.tile.query + row) * kKeys;
  std::uint64_t bits = 0;
  for (std::int64_t key = 0; key < kKeys; ++key) {
    bits |= static_cast<std::uint64_t>(layout.log_weight[static_cast<std::size_t>(first + key)] >= 0.0F) << key;
  }
  return bits;
}

std::int64_t BlockLayout::edges() const noexcept {
  return sum_over_heads(*this, [this](std::int64_t index) { return group_edges[static_cast<std::size_t>(index)]; });
}

double BlockLayout::density() const noexcept {
  const double cells = static_cast<double>(heads) * static_cast<double>(query_length) * static_cast<double>(key_length);
  return cells == 0 ? 0 : static_cast<double>(edges()) / cells;
}

std::int64_t BlockLayout::slots() const noexcept {
  return sum_over_heads(*this, [this](std::int64_t index) {
    std::int64_t slots = 0;
    for_each_block(*this, index, [&](std::int64_t row, std::size_t block) {
      const std::int64_t queries = std::min<std::int64_t>(tile.query, query_length - row * tile.query);
      const std::int64_t keys =
          std::min<std::int64_t>(tile.key, key_length - std::int64_t{key_block[block]} * tile.key);
      slots += queries * keys;
    });
    return slots;
  });
}

std::size_t BlockLayout::bytes() const noexcept {
  return bytes_of(group) + bytes_of(row_begin) + bytes_of(key_block) + bytes_of(kind) + bytes_of(mask_bits) +
         bytes_of(log_weight) + bytes_of(group_edges);
}

LayoutView BlockLayout::view() const noexcept {
  return {.tile_query = tile.query,
          .tile_key = tile.key,
          .query_length = query_length,
          .key_length = key_length,
          .query_blocks = query_blocks(),
          .key_blocks = key_blocks(),
          .heads = heads,
          .batch = batch,
          .group = group.data(),
          .row_begin = row_begin.data(),
          .key_block = key_block.data(),
          .kind = kind.data(),
          .mask_bits = mask_bits.data(),
          .log_weight = log_weight.data()};
}

std::vector<std::int64_t> count_group_edges(const BlockLayout& layout) {
  std::vector<std::int64_t> edges(static_cast<std::size_t>(layout.groups), 0);
  for (std::int64_t group = 0; group < layout.groups; ++group) {
    for_each_block(layout, group, [&](std::int64_t row, std::size_t block) {
      const std::int64_t queries =
          std::min<std::int64_t>(layout.tile.query, layout.query_length - row * layout.tile.query);
      const std::int64_t keys = std::min<std::int64_t>(
          layout.tile.key, layout.key_length - std::int64_t{layout.key_block[block]} * layout.tile.key);
      for (std::int64_t query = 0; query < queries; ++query) {
        edges[static_cast<std::size_t>(group)] += row_edges(layout, block, query, keys);
      }
    });
  }
  return edges;
}

LayoutStatistics statistics(const BlockLayout& layout) {
  const auto count = [&](const auto& matches) {
    return sum_over_heads(layout, [&](std::int64_t group) {
      std::int64_t blocks = 0;
      for_each_block(layout, group,
                     [&](std::int64_t, std::size_t block) { blocks += matches(layout.kind[block]) ? 1 : 0; });
      return blocks;
    });
  };
  LayoutStatistics result;
  result.edges = layout.edges();
  result.density = layout.density();
  result.full_blocks = count(is_full);
  result.partial_blocks = count(is_partial);
  result.weighted_blocks = count(is_weighted);
  result.blocks = result.full_blocks + result.partial_blocks + result.weighted_blocks;
  result.slots = layout.slots();
  result.edges_per_slot = result.slots == 0 ? 0 : static_cast<double>(result.edges) / static_cast<double>(result.slots);
  result.bytes = layout.bytes();
  return result;
}

TransposeView LayoutTranspose::view() const noexcept { return {column_begin.data(), query_block.data(), block.data()}; }

LayoutTranspose transpose(const BlockLayout& layout) {
  const std::int64_t columns = layout.key_blocks();
  LayoutTranspose result;
  result.column_begin.assign(static_cast<std::size_t>(layout.groups * columns + 1), 0);
  result.query_block.resize(layout.key_block.size());
  result.block.resize(layout.key_block.size());
  const auto column_of = [&](std::int64_t group, std::size_t block) {
    return static_cast<std::size_t>(group * columns + layout.key_block[block]);
  };
  for (std::int64_t group = 0; group < layout.groups; ++group) {
    for_each_block(layout, group,
                   [&](std::int64_t, std::size_t block) { ++result.column_begin[column_of(group, block) + 1]; });
  }
  for (std::size_t i = 1; i < result.column_begin.size(); ++i) {
    result.column_begin[i] += result.column_begin[i - 1];
  }
  std::vector<std::int64_t> next(result.column_begin.begin(), result.column_begin.end() - 1);
  for (std::int64_t group = 0; group < layout.groups; ++group) {
    for_each_block(layout, group, [&](std::int64_t row, std::size_t block) {
      const auto at = static_cast<std::size_t>(next[column_of(group, block)]++);
      result.query_block[at] = static_cast<std::int32_t>(row);
      result.block[at] = static_cast<std::int64_t>(block);
    });
  }
  return result;
}

}  // namespace weft::pattern
