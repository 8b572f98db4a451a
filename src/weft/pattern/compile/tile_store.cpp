// SPDX-License-Identifier: Apache-2.0
// Deduplication of block contents by hash and comparison.
#include "weft/pattern/compile/tile_store.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace weft::pattern {
namespace {

template <typename Value>
std::uint64_t hash_of(std::span<const Value> values) {
  std::uint64_t hash = 0x9E3779B97F4A7C15;
  for (const Value value : values) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0xFF51AFD7ED558CCD;
    hash ^= hash >> 32;
  }
  return hash;
}

/// The index of `values` among the equally long rows of `stored`, or -1.
template <typename Value>
std::int32_t find(const std::unordered_multimap<std::uint64_t, std::int32_t>& index, std::uint64_t hash,
                  std::span<const Value> values, const std::vector<Value>& stored) {
  const auto [begin, end] = index.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry) {
    const auto row =
        stored.begin() + static_cast<std::ptrdiff_t>(entry->second) * static_cast<std::ptrdiff_t>(values.size());
    if (std::equal(values.begin(), values.end(), row)) {
      return entry->second;
    }
  }
  return -1;
}

}  // namespace

TileStore::TileStore(BlockLayout& layout) : layout_(layout) {}

std::int32_t TileStore::mask(std::span<const std::uint64_t> bits) {
  const std::uint64_t hash = hash_of(bits);
  const std::int32_t known = find(masks_, hash, bits, layout_.mask_bits);
  if (known >= 0) {
    return known;
  }
  const auto index = static_cast<std::int32_t>(mask_edges_.size());
  std::int32_t edges = 0;
  for (const std::uint64_t word : bits) {
    edges += std::popcount(word);
  }
  masks_.emplace(hash, index);
  mask_edges_.push_back(edges);
  layout_.mask_bits.insert(layout_.mask_bits.end(), bits.begin(), bits.end());
  return index;
}

std::int32_t TileStore::weights(std::span<const int> counts) {
  const std::uint64_t hash = hash_of(counts);
  const std::int32_t known = find(weights_, hash, counts, counts_);
  if (known >= 0) {
    return weighted_kind(known);
  }
  const auto index = static_cast<std::int32_t>(weight_edges_.size());
  weights_.emplace(hash, index);
  weight_edges_.push_back(static_cast<std::int32_t>(counts.size() - std::count(counts.begin(), counts.end(), 0)));
  counts_.insert(counts_.end(), counts.begin(), counts.end());
  for (const int count : counts) {
    layout_.log_weight.push_back(count == 0 ? -std::numeric_limits<float>::infinity()
                                            : static_cast<float>(std::log(static_cast<double>(count))));
  }
  return weighted_kind(index);
}

std::int64_t TileStore::edges(std::int32_t kind) const {
  return is_partial(kind) ? mask_edges_[static_cast<std::size_t>(kind)]
                          : weight_edges_[static_cast<std::size_t>(weight_index(kind))];
}

}  // namespace weft::pattern
