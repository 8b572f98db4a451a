// SPDX-License-Identifier: Apache-2.0
// Counting panels and keys.
#include "weft/inspect/cost/layout_work.h"

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "weft/core/error.h"
#include "weft/pattern/interval.h"

namespace weft::inspect {
namespace {

constexpr std::int32_t kTile = 64;
constexpr std::int64_t kPanel = 32;  // queries, as in kernels/fused/tile.h
// What a thread keeps of packed blocks, as in kernels/fused/block_cache.h: 4 MB of float32, and eight blocks at least.
constexpr std::int64_t kPackedNumbers = 1 << 20;
constexpr std::int64_t kFewestPacked = 8;
constexpr std::int64_t kForwardMatrices = 2;   // of a block: keys and values
constexpr std::int64_t kBackwardMatrices = 4;  // queries and output gradients, each from two sides

/// Keys from the first to the last of those that the bits name.
std::int64_t span_of(std::uint64_t seen) { return seen == 0 ? 0 : std::bit_width(seen) - std::countr_zero(seen); }

/// `seen(query)` are the keys of a block as bits; the sum of the spans of its panels.
template <typename Seen>
double spans_of_block(const Seen& seen) {
  std::int64_t keys = 0;
  for (std::int64_t first = 0; first < kTile; first += kPanel) {
    std::uint64_t panel = 0;
    for (std::int64_t query = first; query < first + kPanel; ++query) {
      panel |= seen(query);
    }
    keys += span_of(panel);
  }
  return static_cast<double>(keys);
}

/// Spans of every mask and every weighted content of a layout: each is met by many blocks.
struct Spans {
  std::vector<double> masks;
  std::vector<double> weights;

  explicit Spans(const pattern::BlockLayout& layout) {
    for (std::size_t mask = 0; mask < layout.mask_bits.size(); mask += kTile) {
      masks.push_back(
          spans_of_block([&](std::int64_t query) { return layout.mask_bits[mask + static_cast<std::size_t>(query)]; }));
    }
    constexpr std::size_t kPairs = std::size_t{kTile} * kTile;
    for (std::size_t weight = 0; weight < layout.log_weight.size(); weight += kPairs) {
      weights.push_back(spans_of_block([&](std::int64_t query) {
        std::uint64_t seen = 0;
        for (std::size_t key = 0; key < kTile; ++key) {
          const float number = layout.log_weight[weight + static_cast<std::size_t>(query) * kTile + key];
          seen |= std::uint64_t{number >= 0 ? 1U : 0U} << key;
        }
        return seen;
      }));
    }
  }
};

std::int64_t packed_slots(std::int64_t matrices, std::int64_t head_dim) {
  return std::max(kFewestPacked, kPackedNumbers / (matrices * kTile * head_dim));
}

/// Walks over blocks in the kernel's order, which keeps each in the slot of its number modulo the slots: how often one
/// is not there any more. The first time of each is part of its row's rate.
double refills(std::span<const std::int32_t> walk, std::int64_t blocks, std::int64_t slots) {
  std::vector<std::int32_t> held(static_cast<std::size_t>(slots), -1);
  std::vector<bool> is_known(static_cast<std::size_t>(blocks), false);
  std::int64_t count = 0;
  for (const std::int32_t block : walk) {
    std::int32_t& slot = held[static_cast<std::size_t>(block % slots)];
    if (slot != block) {
      count += is_known[static_cast<std::size_t>(block)] ? 1 : 0;
      is_known[static_cast<std::size_t>(block)] = true;
      slot = block;
    }
  }
  return static_cast<double>(count);
}

/// The part of the block arrays that belongs to a group, by rows or by columns.
std::span<const std::int32_t> walk_of_group(const std::vector<std::int64_t>& begins,
                                            const std::vector<std::int32_t>& blocks, std::int64_t group,
                                            std::int64_t lists) {
  const std::int64_t begin = begins[static_cast<std::size_t>(group * lists)];
  const std::int64_t end = begins[static_cast<std::size_t>((group + 1) * lists)];
  return std::span(blocks).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

void count_refills(std::vector<LayoutWork>& groups, const pattern::BlockLayout& layout, std::int64_t head_dim) {
  const std::int64_t keys = layout.key_blocks();
  const std::int64_t queries = layout.query_blocks();
  const std::int64_t forward_slots = packed_blocks(head_dim);
  const std::int64_t backward_slots = packed_slots(kBackwardMatrices, head_dim);
  if (keys <= forward_slots && queries <= backward_slots) {
    return;
  }
  const pattern::LayoutTranspose columns = transpose(layout);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const auto index = static_cast<std::int64_t>(group);
    groups[group].forward_refills =
        refills(walk_of_group(layout.row_begin, layout.key_block, index, queries), keys, forward_slots);
    groups[group].backward_refills =
        refills(walk_of_group(columns.column_begin, columns.query_block, index, keys), queries, backward_slots);
  }
}

void count_block(LayoutWork& work, const pattern::BlockLayout& layout, const Spans& spans, std::size_t block,
                 std::int64_t queries) {
  const std::int32_t kind = layout.kind[block];
  if (pattern::is_full(kind)) {
    const std::int64_t keys =
        std::min<std::int64_t>(kTile, layout.key_length - std::int64_t{layout.key_block[block]} * kTile);
    work.full_keys += static_cast<double>(pattern::ceil_divide(queries, kPanel) * keys);
  } else if (pattern::is_partial(kind)) {
    work.partial_blocks += 1;
    work.masked_keys += spans.masks[static_cast<std::size_t>(kind)];
  } else {
    work.weighted_blocks += 1;
    work.masked_keys += spans.weights[static_cast<std::size_t>(pattern::weight_index(kind))];
  }
}

LayoutWork group_work(const pattern::BlockLayout& layout, const Spans& spans, std::int64_t group) {
  LayoutWork work;
  for (std::int64_t row = 0; row < layout.query_blocks(); ++row) {
    const std::int64_t queries = std::min<std::int64_t>(kTile, layout.query_length - row * kTile);
    const auto at = static_cast<std::size_t>(group * layout.query_blocks() + row);
    for (auto block = layout.row_begin[at]; block < layout.row_begin[at + 1]; ++block) {
      count_block(work, layout, spans, static_cast<std::size_t>(block), queries);
    }
  }
  work.query_blocks = static_cast<double>(layout.query_blocks());
  work.key_blocks = static_cast<double>(layout.key_blocks());
  return work;
}

double block_seconds(const LayoutWork& work, const KernelRates& rates) {
  return work.full_keys * rates.key_seconds + work.masked_keys * rates.masked_key_seconds +
         work.partial_blocks * rates.masked_seconds + work.weighted_blocks * rates.weighted_seconds;
}

}  // namespace

LayoutWork& LayoutWork::operator+=(const LayoutWork& other) {
  for (const auto member :
       {&LayoutWork::query_blocks, &LayoutWork::key_blocks, &LayoutWork::full_keys, &LayoutWork::masked_keys,
        &LayoutWork::partial_blocks, &LayoutWork::weighted_blocks, &LayoutWork::forward_refills,
        &LayoutWork::backward_refills, &LayoutWork::slots, &LayoutWork::layout_bytes}) {
    this->*member += other.*member;
  }
  return *this;
}

std::int64_t packed_blocks(std::int64_t head_dim) { return packed_slots(kForwardMatrices, head_dim); }

LayoutWork layout_work(const pattern::BlockLayout& layout, std::int64_t head_dim) {
  require(head_dim >= 1, "cost: the width of a head must be at least 1, found ", head_dim);
  require(layout.tile == pattern::Tile{kTile, kTile},
          "cost: the work of a layout is counted for tiles of 64 x 64, found ", layout.tile.query, " x ",
          layout.tile.key);
  const Spans spans(layout);
  std::vector<LayoutWork> groups;
  groups.reserve(static_cast<std::size_t>(layout.groups));
  for (std::int64_t group = 0; group < layout.groups; ++group) {
    groups.push_back(group_work(layout, spans, group));
  }
  count_refills(groups, layout, head_dim);
  LayoutWork work;
  for (std::int64_t head = 0; head < layout.heads; ++head) {
    work += groups[static_cast<std::size_t>(layout.group[static_cast<std::size_t>(head)])];
  }
  work.slots = static_cast<double>(layout.slots());
  work.layout_bytes = static_cast<double>(layout.bytes());
  return work;
}

double forward_seconds(const LayoutWork& work, const KernelRates& rates) {
  return work.query_blocks * rates.row_seconds + work.forward_refills * rates.refill_seconds +
         block_seconds(work, rates);
}

double backward_seconds(const LayoutWork& work, const KernelRates& rates) {
  return work.key_blocks * rates.row_seconds + work.backward_refills * rates.refill_seconds +
         block_seconds(work, rates);
}

double dense_seconds(double heads, double length, const DenseRates& rates) {
  return heads * length * (rates.query_seconds + length * rates.pair_seconds);
}

}  // namespace weft::inspect
