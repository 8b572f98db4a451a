// SPDX-License-Identifier: Apache-2.0
// Work in which some items are so long that a thread would be left with one while others idle: a global token sees
// every key. Such items are cut into parts, by a rule that knows nothing but costs and the number of threads.
#pragma once

#include <cstdint>

#include "weft/kernels/fused/tile.h"
#include "weft/pattern/layout_view.h"

namespace weft::kernels {

/// A piece of work: a whole item, or one of its parts.
struct WorkPiece {
  std::int64_t item;
  std::int64_t part;   ///< among the parts of the item
  std::int64_t parts;  ///< 1 for a whole item
  std::int64_t slot;   ///< among the parts of all items

  bool is_whole() const noexcept { return parts == 1; }
  /// The share of `blocks` that the part has.
  pattern::BlockRange of(const pattern::BlockRange& blocks) const noexcept {
    return {blocks.begin + blocks.count() * part / parts, blocks.begin + blocks.count() * (part + 1) / parts};
  }
};

/// cost(item) > 0 for items [0, count), in blocks. Pieces are the items, of which the long ones are empty, then the
/// parts of the long ones.
template <class Isa, typename Cost>
class LongItems {
 public:
  LongItems(std::int64_t count, std::int64_t threads, const Cost& cost) noexcept
      : count_(count), cost_(cost), items_(threads > 1 ? smaller(count, kPartsOfShare * threads) : 0) {
    if (threads == 1 || !is_there()) {
      return;
    }
    double total = 0;
    for (std::int64_t item = 0; item < count; ++item) {
      total += cost(item);
    }
    const double share = total / static_cast<double>(kPartsOfShare * threads);
    limit_ = share < kLeastBlocks ? kLeastBlocks : share;
    for (std::int64_t item = 0; item < count; ++item) {
      if (is_long(item)) {
        items_[long_items_++] = item;
        parts_ += parts_of(item);
      }
    }
  }

  /// False when there was no memory.
  bool is_there() const noexcept { return items_.is_there(); }
  std::int64_t pieces() const noexcept { return count_ + parts_; }
  std::int64_t parts() const noexcept { return parts_; }

  /// What a piece costs.
  double cost(std::int64_t piece) const noexcept {
    if (piece < count_) {
      return is_long(piece) ? 0.0 : cost_(piece);
    }
    const WorkPiece part = at(piece);
    return cost_(part.item) / static_cast<double>(part.parts);
  }

  /// `parts` is 0 for a long item, which its parts stand for.
  WorkPiece at(std::int64_t piece) const noexcept {
    if (piece < count_) {
      return {piece, 0, is_long(piece) ? 0 : 1, 0};
    }
    std::int64_t part = piece - count_;
    std::int64_t at = 0;
    for (; part >= parts_of(items_[at]); ++at) {
      part -= parts_of(items_[at]);
    }
    return {items_[at], part, parts_of(items_[at]), piece - count_};
  }

  /// Calls work(item, first slot, parts) for the long items, in order.
  template <typename Work>
  void each_long(const Work& work) const noexcept {
    std::int64_t slot = 0;
    for (std::int64_t at = 0; at < long_items_; ++at) {
      work(items_[at], slot, parts_of(items_[at]));
      slot += parts_of(items_[at]);
    }
  }

 private:
  // An item of more than an eighth of a thread's share is long, but none of a few blocks.
  static constexpr std::int64_t kPartsOfShare = 8;
  static constexpr double kLeastBlocks = 16;

  bool is_long(std::int64_t item) const noexcept { return limit_ > 0 && cost_(item) > limit_; }
  std::int64_t parts_of(std::int64_t item) const noexcept {
    return static_cast<std::int64_t>(cost_(item) / limit_) + 1;
  }

  std::int64_t count_;
  const Cost& cost_;
  Buffer<Isa, std::int64_t> items_;
  double limit_ = 0;
  std::int64_t long_items_ = 0;
  std::int64_t parts_ = 0;
};

}  // namespace weft::kernels
