// SPDX-License-Identifier: Apache-2.0
// The walk over one group's rows. Cost follows the blocks that come out, times the logarithm of the row for the search.
#include "weft/pattern/compile/row_compiler.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "weft/core/error.h"
#include "weft/pattern/compile/row_walk.h"

namespace weft::pattern {
namespace {

constexpr std::int32_t kEmpty = std::numeric_limits<std::int32_t>::min();
constexpr std::size_t kRemembered = 1 << 16;

/// Positions after which pattern and tiles both repeat, or 0.
std::int64_t common_shift(std::int64_t period, const Tile& tile, std::int64_t query_length) {
  if (period <= 0 || period > query_length) {
    return 0;
  }
  const std::int64_t tiles = std::lcm(std::int64_t{tile.query}, std::int64_t{tile.key});
  const std::int64_t factor = tiles / std::gcd(tiles, period);
  return factor > query_length / period ? 0 : factor * period;
}

}  // namespace

std::size_t SignatureHash::operator()(const Signature& numbers) const noexcept {
  std::uint64_t hash = numbers.size();
  for (const std::int64_t number : numbers) {
    hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

RowCompiler::RowCompiler(const Node& root, const Context& context, BlockLayout& layout, TileStore& store)
    : root_(root), context_(context), layout_(layout), store_(store) {
  const Tile& tile = layout_.tile;
  weighted_ = is_counted(root);
  const std::int64_t shift = common_shift(root.period(context), tile, context.query_length);
  shift_queries_ = shift / tile.query;
  shift_keys_ = shift / tile.key;
  key_blocks_ = ceil_divide(context.key_length, tile.key);
  bits_.resize(static_cast<std::size_t>(tile.query) * static_cast<std::size_t>(layout_.view().words()));
  counts_.resize(weighted_ ? static_cast<std::size_t>(tile.query) * static_cast<std::size_t>(tile.key) : 0);
}

std::int64_t RowCompiler::run() {
  const std::int64_t query_blocks = layout_.query_blocks();
  first_row_ = layout_.row_begin.size() - 1;
  for (row_ = 0; row_ < query_blocks; ++row_) {
    const std::int64_t begin = row_ * layout_.tile.query;
    const std::int64_t end = std::min(begin + layout_.tile.query, context_.query_length);
    queries_ = std::min<std::int64_t>(layout_.tile.query, layout_.query_length - begin);
    query_ = {context_.query_offset + begin, context_.query_offset + end};
    if (begin < end && key_blocks_ > 0) {
      can_shift() ? shifted_row() : walk(0, key_blocks_);
    }
    layout_.row_begin.push_back(layout_.blocks());
  }
  return edges_;
}

/// Whether the batch row lacks queries or keys of this block that the layout has, so that it is never full.
bool RowCompiler::is_cut(std::int64_t key_block) const {
  const std::int64_t end = std::min(begin_key(key_block + 1), layout_.key_length);
  return query_.size() < queries_ || end > context_.key_length;
}

/// Emits what the row has in blocks [first, end).
void RowCompiler::walk(std::int64_t first, std::int64_t end) {
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  walk_row(
      {root_, context_, query_, layout_.tile.key}, {first, end}, steps,
      [this](const Range& blocks, int multiplicity) { even_blocks(blocks.begin, blocks.end, multiplicity); },
      [this](std::int64_t block) { exact_block(block); });
}

void RowCompiler::even_blocks(std::int64_t first, std::int64_t end, int multiplicity) {
  for (std::int64_t block = first; block < end; ++block) {
    if (multiplicity > 1 || is_cut(block)) {
      exact_block(block);
    } else {
      emit(block, kFullBlock);
    }
  }
}

Range RowCompiler::keys_of(std::int64_t key_block) const {
  return {begin_key(key_block), std::min(begin_key(key_block + 1), context_.key_length)};
}

void RowCompiler::exact_block(std::int64_t key_block) {
  if (layout_.tile.query == 1) {  // a word of bits costs less than to look it up
    append(key_block, exact_kind(key_block));
    return;
  }
  const Range keys = keys_of(key_block);
  signature_.assign({query_.size(), keys.size(), is_cut(key_block) ? 1 : 0});
  root_.signature(context_, query_, keys, signature_);
  const auto known = known_.find(signature_);
  const std::int32_t kind = known == known_.end() ? exact_kind(key_block) : known->second;
  if (known == known_.end() && known_.size() < kRemembered) {
    known_.emplace(signature_, kind);
  }
  append(key_block, kind);
}

void RowCompiler::append(std::int64_t key_block, std::int32_t kind) {
  if (kind != kEmpty) {
    emit(key_block, kind);
  }
}

/// The kind of a block by its exact content, kEmpty where it has no edge.
std::int32_t RowCompiler::exact_kind(std::int64_t key_block) {
  if (!fill_bits(key_block)) {
    return kEmpty;
  }
  if (weighted_ && fill_counts(key_block)) {
    return store_.weights(counts_);
  }
  const std::int64_t keys = std::min<std::int64_t>(layout_.tile.key, layout_.key_length - begin_key(key_block));
  std::int64_t edges = 0;
  for (const std::uint64_t word : bits_) {
    edges += std::popcount(word);
  }
  return edges == queries_ * keys ? kFullBlock : store_.mask(bits_);
}

/// Writes the bits of a block; returns whether there is any.
bool RowCompiler::fill_bits(std::int64_t key_block) {
  const auto words = static_cast<std::size_t>(layout_.view().words());
  const Range keys = keys_of(key_block);
  column_.resize(static_cast<std::size_t>(query_.size()));
  std::fill(bits_.begin(), bits_.end(), 0);
  std::uint64_t any = 0;
  for (std::size_t word = 0; word < words && keys.begin + 64 * static_cast<std::int64_t>(word) < keys.end; ++word) {
    const std::int64_t first = keys.begin + 64 * static_cast<std::int64_t>(word);
    root_.rows_bits(context_, query_, first, static_cast<int>(std::min<std::int64_t>(64, keys.end - first)), column_);
    for (std::size_t query = 0; query < column_.size(); ++query) {
      bits_[query * words + word] = column_[query];
      any |= column_[query];
    }
  }
  return any != 0;
}

/// Writes the multiplicities of a block; returns whether one exceeds 1.
bool RowCompiler::fill_counts(std::int64_t key_block) {
  std::fill(counts_.begin(), counts_.end(), 0);
  const Range keys = keys_of(key_block);
  fill_rectangle(query_, keys, keys);
  return *std::max_element(counts_.begin(), counts_.end()) > 1;
}

void RowCompiler::fill_rectangle(const Range& query, const Range& key, const Range& origin) {
  const int value = root_.uniform(context_, query, key);
  if (value == kMixed && query.size() >= key.size()) {
    const std::int64_t middle = query.begin + query.size() / 2;
    fill_rectangle({query.begin, middle}, key, origin);
    fill_rectangle({middle, query.end}, key, origin);
  } else if (value == kMixed) {
    const std::int64_t middle = key.begin + key.size() / 2;
    fill_rectangle(query, {key.begin, middle}, origin);
    fill_rectangle(query, {middle, key.end}, origin);
  } else if (value > 0) {
    for (std::int64_t i = query.begin; i < query.end; ++i) {
      const auto row = counts_.begin() + (i - query_.begin) * layout_.tile.key;
      std::fill(row + (key.begin - origin.begin), row + (key.end - origin.begin), value);
    }
  }
}

void RowCompiler::emit(std::int64_t key_block, std::int32_t kind) {
  if (layout_.blocks() == kMaximumBlocks) {
    fail(ErrorKind::kArgument, "pattern: the layout has more than ", kMaximumBlocks, " blocks of ", layout_.tile.query,
         " x ", layout_.tile.key, " at ", layout_.query_length, " x ", layout_.key_length,
         "; take a sparser pattern or a shorter length");
  }
  const std::int64_t keys = std::min<std::int64_t>(layout_.tile.key, layout_.key_length - begin_key(key_block));
  edges_ += is_full(kind) ? queries_ * keys : store_.edges(kind);
  layout_.key_block.push_back(static_cast<std::int32_t>(key_block));
  layout_.kind.push_back(kind);
}

/// Whether this row is the one `shift_queries_` above it, moved by `shift_keys_` blocks.
bool RowCompiler::can_shift() const {
  return shift_queries_ > 0 && row_ >= shift_queries_ && query_.size() == layout_.tile.query;
}

void RowCompiler::shifted_row() {
  walk(0, std::min(shift_keys_, key_blocks_));
  const std::int64_t whole_keys = context_.key_length / layout_.tile.key;  // the block behind these, if any, is short
  const std::size_t source = first_row_ + static_cast<std::size_t>(row_ - shift_queries_);
  const auto end = static_cast<std::size_t>(layout_.row_begin[source + 1]);
  for (auto block = static_cast<std::size_t>(layout_.row_begin[source]); block < end; ++block) {
    const std::int64_t key_block = layout_.key_block[block] + shift_keys_;
    if (key_block >= whole_keys) {
      break;
    }
    emit(key_block, layout_.kind[block]);
  }
  if (whole_keys < key_blocks_ && whole_keys >= shift_keys_) {
    walk(whole_keys, key_blocks_);
  }
}

}  // namespace weft::pattern
