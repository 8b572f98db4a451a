// SPDX-License-Identifier: Apache-2.0
// Keys and values of a block, packed at most once while they stay in a thread's cache: neighbouring query blocks look
// at the same keys.
#pragma once

#include <cstdint>

#include "weft/kernels/arguments.h"
#include "weft/kernels/fused/block_cache.h"
#include "weft/kernels/fused/matrix.h"
#include "weft/kernels/rows.h"

namespace weft::kernels {

template <typename Unit>
struct KeyBlock {
  Matrix<Unit> key;
  Matrix<Unit> value;
  std::int64_t keys;            ///< that exist
  std::uint64_t padded;         ///< bit k: key k is padding; its memory counts as zero
  std::uint64_t invalid_key;    ///< bit k: key k holds NaN or infinity; its memory counts as zero
  std::uint64_t invalid_value;  ///< bit k: the value of key k does; likewise
};

/// Which sides of keys and values a pass multiplies by.
struct KeySides {
  Sides key;
  Sides value;
};

template <class Isa, class Storage>
class KeyBlocks {
  using Memory = typename Storage::Memory;
  using Packer = MatrixPacker<Isa, Memory>;
  using Unit = typename Packer::Unit;

 public:
  KeyBlocks(const AttentionArguments& arguments, KeySides sides) noexcept
      : arguments_(arguments),
        sides_(sides),
        cache_(arguments.layout.key_blocks, Packer::room(arguments.head_dim) + Packer::room(arguments.value_dim)) {}

  bool is_there() const noexcept { return cache_.is_there(); }

  const KeyBlock<Unit>& get(std::int64_t batch, std::int64_t key_head, std::int64_t key_block) noexcept {
    const std::int64_t tag = (batch * arguments_.key_heads + key_head) * arguments_.layout.key_blocks + key_block;
    return cache_.get(tag, [&](KeyBlock<Unit>& block, Unit* room) { fill(block, room, {batch, key_head, key_block}); });
  }

  /// Whether getting a block of the same head invalidates another one.
  bool evicts(std::int64_t key_block, std::int64_t other) const noexcept {
    return key_block != other && cache_.share_slot(key_block, other);
  }

 private:
  // `at.row` counts blocks.
  void fill(KeyBlock<Unit>& block, Unit* room, const RowIndex& at) const noexcept {
    const RowIndex first{at.batch, at.head, at.row * kTile};
    block.keys = smaller(kTile, arguments_.key_length - first.row);
    block.padded = padded_keys(at.batch, first.row, block.keys);
    Rows<Memory> key{row_of<Storage>(arguments_.key, first), arguments_.key.row_stride, block.keys, arguments_.head_dim,
                     block.padded};
    Rows<Memory> value{row_of<Storage>(arguments_.value, first), arguments_.value.row_stride, block.keys,
                       arguments_.value_dim, block.padded};
    block.invalid_key = Packer::invalid(key);
    block.invalid_value = Packer::invalid(value);
    key.hidden |= block.invalid_key;
    value.hidden |= block.invalid_value;
    block.key = Packer::pack(key, sides_.key, room);
    block.value = Packer::pack(value, sides_.value, room + Packer::room(arguments_.head_dim));
  }

  std::uint64_t padded_keys(std::int64_t batch, std::int64_t first, std::int64_t keys) const noexcept {
    if (arguments_.key_keep == nullptr) {
      return 0;
    }
    std::uint64_t bits = 0;
    const std::uint8_t* keep = arguments_.key_keep + batch * arguments_.key_length + first;
    for (std::int64_t key = 0; key < keys; ++key) {
      bits |= std::uint64_t{keep[key] == 0 ? 1U : 0U} << key;
    }
    return bits;
  }

  const AttentionArguments& arguments_;
  KeySides sides_;
  BlockCache<Isa, KeyBlock<Unit>, Unit> cache_;
};

}  // namespace weft::kernels
