// SPDX-License-Identifier: Apache-2.0
// Counting panels and keys.
#include "weft/pattern/cost/layout_work.h"

#include <algorithm>
#include <bit>

#include "weft/core/error.h"
#include "weft/pattern/interval.h"

namespace weft::pattern {
namespace {

constexpr std::int32_t kTile = 64;
constexpr std::int64_t kPanel = 32;  // queries, as in kernels/fused/tile.h

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

  explicit Spans(const BlockLayout& layout) {
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

void count_block(LayoutWork& work, const BlockLayout& layout, const Spans& spans, std::size_t block,
                 std::int64_t queries) {
  const std::int32_t kind = layout.kind[block];
  if (is_full(kind)) {
    const std::int64_t keys =
        std::min<std::int64_t>(kTile, layout.key_length - std::int64_t{layout.key_block[block]} * kTile);
    work.full_keys += static_cast<double>(ceil_divide(queries, kPanel) * keys);
  } else if (is_partial(kind)) {
    work.partial_blocks += 1;
    work.masked_keys += spans.masks[static_cast<std::size_t>(kind)];
  } else {
    work.weighted_blocks += 1;
    work.masked_keys += spans.weights[static_cast<std::size_t>(weight_index(kind))];
  }
}

LayoutWork group_work(const BlockLayout& layout, const Spans& spans, std::int64_t group) {
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
        &LayoutWork::partial_blocks, &LayoutWork::weighted_blocks, &LayoutWork::slots, &LayoutWork::layout_bytes}) {
    this->*member += other.*member;
  }
  return *this;
}

LayoutWork layout_work(const BlockLayout& layout) {
  require(layout.tile == Tile{kTile, kTile}, "cost: the work of a layout is counted for tiles of 64 x 64, found ",
          layout.tile.query, " x ", layout.tile.key);
  const Spans spans(layout);
  std::vector<LayoutWork> groups;
  groups.reserve(static_cast<std::size_t>(layout.groups));
  for (std::int64_t group = 0; group < layout.groups; ++group) {
    groups.push_back(group_work(layout, spans, group));
  }
  LayoutWork work;
  for (std::int64_t head = 0; head < layout.heads; ++head) {
    work += groups[static_cast<std::size_t>(layout.group[static_cast<std::size_t>(head)])];
  }
  work.slots = static_cast<double>(layout.slots());
  work.layout_bytes = static_cast<double>(layout.bytes());
  return work;
}

double forward_seconds(const LayoutWork& work, const KernelRates& rates) {
  return work.query_blocks * rates.row_seconds + block_seconds(work, rates);
}

double backward_seconds(const LayoutWork& work, const KernelRates& rates) {
  return work.key_blocks * rates.row_seconds + block_seconds(work, rates);
}

double dense_seconds(double heads, double length, const DenseRates& rates) {
  return heads * length * (rates.query_seconds + length * rates.pair_seconds);
}

}  // namespace weft::pattern
