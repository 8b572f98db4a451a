// SPDX-License-Identifier: Apache-2.0
// Items are sorted within a group only, since thread blocks of all groups begin at once.
#include "weft/kernels/cuda/plan.h"

#include <algorithm>
#include <limits>

#include "weft/kernels/dropout.h"

namespace weft::kernels::cuda {
namespace {

constexpr std::int64_t kRowsOfTile = 64;

struct BlockParts {
  std::int64_t begin;
  std::int64_t count;  ///< of blocks
  std::int64_t parts;

  pattern::BlockRange of(std::int64_t part) const noexcept {
    return {begin + count * part / parts, begin + count * (part + 1) / parts};
  }
};

BlockParts parts_of(const PlanSource& source, std::int64_t group, std::int64_t block) noexcept {
  const std::int64_t* const at = source.begin + group * source.blocks + block;
  const std::int64_t count = at[1] - at[0];
  return {at[0], count, std::max<std::int64_t>(1, (count + source.longest - 1) / source.longest)};
}

bool is_joined(const PlanSource& source, const BlockParts& block) noexcept {
  return source.joins_all || block.parts > 1;
}

WorkItem item_of(const PlanSource& source, const pattern::BlockRange& blocks, std::int32_t name,
                 std::int32_t slot) noexcept {
  WorkItem item{static_cast<std::int32_t>(blocks.begin), static_cast<std::int32_t>(blocks.end), name, slot, {}, {}};
  for (std::int64_t at = 0; at < std::min<std::int64_t>(2, blocks.count()); ++at) {
    item.met[at] = source.met[blocks.begin + at];
    item.kind[at] = source.kind == nullptr ? 0 : source.kind[blocks.begin + at];
  }
  return item;
}

// Writes the items and joins of a group behind those that are there; the sizes are what was written.
PlanSize fill_group(const PlanSource& source, std::int64_t group, WorkItem* items, JoinItem* joins) noexcept {
  PlanSize size;
  for (std::int64_t block = 0; block < source.blocks; ++block) {
    const BlockParts found = parts_of(source, group, block);
    const auto name = static_cast<std::int32_t>(block);
    if (is_joined(source, found)) {
      joins[size.joins++] = {name, static_cast<std::int32_t>(size.slots), static_cast<std::int32_t>(found.parts)};
    }
    for (std::int64_t part = 0; part < found.parts; ++part) {
      const pattern::BlockRange blocks = found.of(part);
      const std::int64_t slot = is_joined(source, found) ? size.slots++ : -1;
      items[size.items++] = item_of(source, blocks, name, static_cast<std::int32_t>(slot));
    }
  }
  std::stable_sort(items, items + size.items, [](const WorkItem& left, const WorkItem& right) {
    return left.end - left.begin > right.end - right.begin;
  });
  return size;
}

bool has_edge(const pattern::LayoutView& layout, std::int32_t kind, std::int64_t query, std::int64_t key) noexcept {
  if (pattern::is_weighted(kind)) {
    return layout.weight(kind)[query * layout.tile_key + key] > -std::numeric_limits<float>::infinity();
  }
  return ((layout.mask(kind)[query] >> key) & 1) != 0;
}

}  // namespace

PlanSize plan_size(const PlanSource& source) noexcept {
  PlanSize size;
  for (std::int64_t group = 0; group < source.groups; ++group) {
    PlanSize of_group;
    for (std::int64_t block = 0; block < source.blocks; ++block) {
      const BlockParts found = parts_of(source, group, block);
      of_group.items += found.parts;
      of_group.joins += is_joined(source, found) ? 1 : 0;
      of_group.slots += is_joined(source, found) ? found.parts : 0;
      of_group.long_items += found.parts > 1 ? found.parts : 0;
    }
    size.items += of_group.items;
    size.joins += of_group.joins;
    size.most_items = std::max(size.most_items, of_group.items);
    size.most_joins = std::max(size.most_joins, of_group.joins);
    size.slots = std::max(size.slots, of_group.slots);
    size.long_items = std::max(size.long_items, of_group.long_items);
  }
  size.long_items = 2 * size.long_items <= size.most_items ? size.long_items : 0;
  return size;
}

void fill_plan(const PlanSource& source, const PlanArrays& arrays) noexcept {
  arrays.item_begin[0] = 0;
  arrays.join_begin[0] = 0;
  for (std::int64_t group = 0; group < source.groups; ++group) {
    const std::int64_t items = arrays.item_begin[group];
    const std::int64_t joins = arrays.join_begin[group];
    const PlanSize size = fill_group(source, group, arrays.items + items, arrays.joins + joins);
    arrays.item_begin[group + 1] = items + size.items;
    arrays.join_begin[group + 1] = joins + size.joins;
  }
}

WorkList work_list(const PlanSize& size, const PlanArrays& arrays) noexcept {
  return {arrays.items,    arrays.item_begin, arrays.joins, arrays.join_begin,
          size.most_items, size.most_joins,   size.slots,   size.long_items};
}

bool has_single_queries(const AttentionArguments& arguments) noexcept {
  const bool is_single = arguments.layout.tile_query == 1 || arguments.query_length == 1;
  return is_single && arguments.dropout.probability == 0.0F;
}

std::int64_t lost_flags(const DeviceCall& call) noexcept {
  constexpr std::int64_t kMostChunks =
      kMaximumHeadDim / 32 * 2;  // of float32: slices of 32 columns, blocks in two parts
  return call.attention.batch * call.attention.heads * (call.rows.most_items + call.columns.most_items) * kMostChunks;
}

bool has_aligned_rows(const AttentionArguments& arguments, const AttentionGradients& gradients) noexcept {
  const std::int64_t size = arguments.dtype == DType::kFloat32 ? 4 : 2;
  const auto is_aligned = [size](const Input& array) {
    const std::int64_t strides = array.batch_stride | array.head_stride | array.row_stride;
    return reinterpret_cast<std::uintptr_t>(array.data) % 16 == 0 && strides * size % 16 == 0;
  };
  return is_aligned(arguments.query) && is_aligned(arguments.key) && is_aligned(arguments.value) &&
         is_aligned(gradients.output_gradient);
}

Draws draws_of(const Dropout& dropout) noexcept {
  return {dropout_key(dropout), half_threshold(dropout.probability), dropout.probability > 0.0F,
          static_cast<float>(1.0 / (1.0 - static_cast<double>(dropout.probability)))};
}

LayoutCounts counts_of(const pattern::LayoutView& layout) noexcept {
  LayoutCounts counts;
  for (std::int64_t at = 0; at < layout.batch * layout.heads; ++at) {
    counts.groups = std::max<std::int64_t>(counts.groups, layout.group[at] + 1);
  }
  const std::int64_t blocks = layout.row_begin[counts.groups * layout.query_blocks];
  for (std::int64_t at = 0; at < blocks; ++at) {
    const std::int32_t kind = layout.kind[at];
    std::int64_t& count = pattern::is_weighted(kind) ? counts.weighted : counts.partial;
    if (!pattern::is_full(kind)) {
      count = std::max<std::int64_t>(count, (pattern::is_weighted(kind) ? pattern::weight_index(kind) : kind) + 1);
    }
  }
  return counts;
}

std::int64_t longest_part(const pattern::LayoutView& layout) noexcept {
  std::int64_t blocks = 0;
  for (std::int64_t at = 0; at < layout.batch * layout.heads; ++at) {
    const std::int64_t* const rows = layout.row_begin + layout.group[at] * layout.query_blocks;
    blocks += rows[layout.query_blocks] - rows[0];
  }
  return std::max(kLongestPart, blocks / kBusyItems);
}

void fill_bits(const pattern::LayoutView& layout, const LayoutCounts& counts, std::uint64_t* rows,
               std::uint64_t* columns) noexcept {
  const std::int64_t blocks = counts.partial + counts.weighted;
  const std::int64_t words = blocks * kRowsOfTile;
  std::fill(rows, rows + words, 0);
  std::fill(columns, columns + words, 0);
  for (std::int64_t block = 0; block < blocks; ++block) {
    const auto kind = block < counts.partial
                          ? static_cast<std::int32_t>(block)
                          : pattern::weighted_kind(static_cast<std::int32_t>(block - counts.partial));
    for (std::int64_t query = 0; query < layout.tile_query; ++query) {
      for (std::int64_t key = 0; key < kRowsOfTile; ++key) {
        if (has_edge(layout, kind, query, key)) {
          rows[block * kRowsOfTile + query] |= std::uint64_t{1} << key;
          columns[block * kRowsOfTile + key] |= std::uint64_t{1} << query;
        }
      }
    }
  }
}

}  // namespace weft::kernels::cuda
