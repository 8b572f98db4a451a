// SPDX-License-Identifier: Apache-2.0
// A thread's direct-mapped cache of packed blocks: slot = tag mod slots, so that a run of neighbouring blocks never
// throws itself out.
#pragma once

#include <cstdint>

#include "weft/kernels/fused/tile.h"

namespace weft::kernels {

template <class Isa, class Entry, typename Unit>
class BlockCache {
 public:
  /// At most `blocks` slots with room for `room` units each, and no more than about 4 MB: what a second-level cache and
  /// its share of the third hold.
  BlockCache(std::int64_t blocks, std::int64_t room) noexcept
      : slots_(slots_for(blocks, room)), room_(room), entries_(slots_), tags_(slots_), rooms_(slots_ * room) {
    for (std::int64_t slot = 0; is_there() && slot < slots_; ++slot) {
      tags_[slot] = -1;
    }
  }

  bool is_there() const noexcept { return entries_.is_there() && tags_.is_there() && rooms_.is_there(); }

  /// The entry of `tag`, made by fill(entry, room) where it is not there.
  template <typename Fill>
  const Entry& get(std::int64_t tag, const Fill& fill) noexcept {
    const std::int64_t slot = tag % slots_;
    if (tags_[slot] != tag) {
      fill(entries_[slot], rooms_.data() + slot * room_);
      tags_[slot] = tag;
    }
    return entries_[slot];
  }

  /// Whether two tags so far apart have one slot.
  bool share_slot(std::int64_t tag, std::int64_t other) const noexcept { return (tag - other) % slots_ == 0; }

 private:
  static std::int64_t slots_for(std::int64_t blocks, std::int64_t room) noexcept {
    constexpr std::int64_t kUnits = (std::int64_t{4} << 20) / static_cast<std::int64_t>(sizeof(Unit));
    const std::int64_t fitting = kUnits / room < 8 ? 8 : kUnits / room;
    return blocks < 1 ? 1 : smaller(blocks, fitting);
  }

  std::int64_t slots_;
  std::int64_t room_;
  Buffer<Isa, Entry> entries_;
  Buffer<Isa, std::int64_t> tags_;
  Buffer<Isa, Unit> rooms_;
};

}  // namespace weft::kernels
