// SPDX-License-Identifier: Apache-2.0
// Who runs which blocks of queries: consecutive shares of equal cost, a thread a share. A block of queries that sees
// most keys is cut into ranges of its keys, whose results are joined in their order: the bits depend on nothing but the
// number of threads.
#pragma once

#include <cstdint>

#include "weft/kernels/fused/forward.h"
#include "weft/kernels/fused/long_items.h"
#include "weft/kernels/fused/work.h"

namespace weft::kernels {

template <class Isa, class Storage>
class ForwardPass {
 public:
  ForwardPass(const AttentionArguments& arguments, const ParallelFor& parallel) noexcept
      : arguments_(arguments), parallel_(parallel), relative_rows_(arguments, parallel) {}

  /// False when there was no memory.
  bool run() noexcept {
    // A block of queries costs its key blocks, and about half a block more for packing and storing.
    const auto cost = [this](std::int64_t item) { return static_cast<double>(blocks_of(item).count()) + 0.5; };
    const LongItems<Isa, decltype(cost)> items(arguments_.batch * arguments_.heads * arguments_.layout.query_blocks,
                                               parallel_.threads(), cost);
    const RowParts<Isa> parts(items.parts(), arguments_.value_dim);
    if (!items.is_there() || !parts.is_there() || !relative_rows_.is_there()) {
      return false;
    }
    share_out<Isa>(
        parallel_, items.pieces(), [&](std::int64_t piece) { return items.cost(piece); },
        [&](std::int64_t begin, std::int64_t end) { run_pieces(items, parts, begin, end); });
    if (items.parts() > 0 && succeeded_) {
      merge(items, parts);
    }
    return succeeded_;
  }

 private:
  // Item = (batch * heads + head) * query_blocks + query block.
  QueryPlace place_of(std::int64_t item) const noexcept {
    const std::int64_t blocks = arguments_.layout.query_blocks;
    return {item / blocks / arguments_.heads, item / blocks % arguments_.heads, item % blocks};
  }

  pattern::BlockRange blocks_of(std::int64_t item) const noexcept {
    const QueryPlace place = place_of(item);
    return arguments_.layout.row(place.batch, place.head, place.query_block);
  }

  void out_of_memory() noexcept { __atomic_store_n(&succeeded_, false, __ATOMIC_RELAXED); }

  template <typename Items>
  void run_pieces(const Items& items, const RowParts<Isa>& parts, std::int64_t begin, std::int64_t end) noexcept {
    FusedForward<Isa, Storage> forward(arguments_, relative_rows_);
    if (!forward.is_there()) {
      return out_of_memory();
    }
    for (std::int64_t at = begin; at < end; ++at) {
      const WorkPiece piece = items.at(at);
      if (piece.is_whole()) {
        forward.run(place_of(piece.item), blocks_of(piece.item));
      } else if (piece.parts > 1) {
        forward.run_part(place_of(piece.item), piece.of(blocks_of(piece.item)), parts.at(piece.slot));
      }
    }
  }

  template <typename Items>
  void merge(const Items& items, const RowParts<Isa>& parts) noexcept {
    FusedForward<Isa, Storage> forward(arguments_, relative_rows_);
    if (!forward.is_there()) {
      return out_of_memory();
    }
    items.each_long([&](std::int64_t item, std::int64_t first, std::int64_t count) {
      forward.merge(place_of(item), parts, first, count);
    });
  }

  const AttentionArguments& arguments_;
  const ParallelFor& parallel_;
  RelativeRows<Isa, Storage> relative_rows_;
  bool succeeded_ = true;
};

}  // namespace weft::kernels
