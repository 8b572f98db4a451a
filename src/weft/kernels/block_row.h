// SPDX-License-Identifier: Apache-2.0
// The edges of one query in one block, whatever the kind of the block: which keys, and with what log multiplicity. Keys
// beyond the length, padded, or hidden by their positions are no edges, and their memory is never read.
#pragma once

#include <cstdint>
#include <limits>

#include "weft/kernels/arguments.h"
#include "weft/kernels/row_positions.h"

namespace weft::kernels {

class BlockRow {
 public:
  /// `block` is an index into the layout's block arrays.
  BlockRow(const AttentionArguments& arguments, const RowIndex& at, std::int64_t block) noexcept {
    const pattern::LayoutView& layout = arguments.layout;
    const std::int64_t query = at.row % layout.tile_query;
    const std::int32_t kind = layout.kind[block];
    first_key_ = std::int64_t{layout.key_block[block]} * layout.tile_key;
    const std::int64_t left = arguments.key_length - first_key_;
    keys_ = left < layout.tile_key ? left : layout.tile_key;
    if (pattern::is_partial(kind)) {
      bits_ = layout.mask(kind) + query * layout.words();
    } else if (pattern::is_weighted(kind)) {
      weight_ = layout.weight(kind) + query * layout.tile_key;
    }
    if (arguments.key_keep != nullptr) {
      keep_ = arguments.key_keep + at.batch * arguments.key_length + first_key_;
    }
    if (has_positions(arguments)) {
      seen_ = seen_positions(arguments, at);
      positions_ = key_positions(arguments, at, first_key_);
    }
  }

  std::int64_t first_key() const noexcept { return first_key_; }
  std::int64_t keys() const noexcept { return keys_; }

  /// log multiplicity of `key`, counted from first_key(): 0 for a plain edge, -infinity for no edge.
  float log_weight(std::int64_t key) const noexcept {
    const bool padded = keep_ != nullptr && keep_[key] == 0;
    const bool masked = bits_ != nullptr && ((bits_[key / 64] >> (key % 64)) & 1) == 0;
    const bool hidden = positions_ != nullptr && !seen_.sees(positions_[key]);
    if (padded || masked || hidden) {
      return -std::numeric_limits<float>::infinity();
    }
    return weight_ == nullptr ? 0.0F : weight_[key];
  }

  bool has_edge(std::int64_t key) const noexcept { return log_weight(key) > -std::numeric_limits<float>::infinity(); }
  /// Whether the score of an edge is kOwnScore.
  bool is_own(std::int64_t key) const noexcept { return positions_ != nullptr && positions_[key] == seen_.own; }

 private:
  std::int64_t first_key_ = 0;
  std::int64_t keys_ = 0;
  const std::uint64_t* bits_ = nullptr;
  const float* weight_ = nullptr;
  const std::uint8_t* keep_ = nullptr;
  SeenPositions seen_;
  const std::int32_t* positions_ = nullptr;
};

}  // namespace weft::kernels
