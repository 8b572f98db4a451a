// SPDX-License-Identifier: Apache-2.0
// The edges of one query in one block, whatever the kind of the block: which keys, and with what log multiplicity. Keys
// beyond the length or padded are no edges, and their memory is never read.
#pragma once

#include <cstdint>
#include <limits>

#include "weft/kernels/arguments.h"

namespace weft::kernels {

class BlockRow {
 public:
  /// `block` is an index into the layout's block arrays, `query` counts from the start of the query block.
  BlockRow(const AttentionArguments& arguments, std::int64_t batch, std::int64_t block, std::int64_t query) noexcept {
    const pattern::LayoutView& layout = arguments.layout;
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
      keep_ = arguments.key_keep + batch * arguments.key_length + first_key_;
    }
  }

  std::int64_t first_key() const noexcept { return first_key_; }
  std::int64_t keys() const noexcept { return keys_; }

  /// log multiplicity of `key`, counted from first_key(): 0 for a plain edge, -infinity for no edge.
  float log_weight(std::int64_t key) const noexcept {
    const bool padded = keep_ != nullptr && keep_[key] == 0;
    const bool masked = bits_ != nullptr && ((bits_[key / 64] >> (key % 64)) & 1) == 0;
    if (padded || masked) {
      return -std::numeric_limits<float>::infinity();
    }
    return weight_ == nullptr ? 0.0F : weight_[key];
  }

  bool has_edge(std::int64_t key) const noexcept { return log_weight(key) > -std::numeric_limits<float>::infinity(); }

 private:
  std::int64_t first_key_ = 0;
  std::int64_t keys_ = 0;
  const std::uint64_t* bits_ = nullptr;
  const float* weight_ = nullptr;
  const std::uint8_t* keep_ = nullptr;
};

}  // namespace weft::kernels
