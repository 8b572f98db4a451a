// SPDX-License-Identifier: Apache-2.0
// Who runs which part of the backward pass. Many heads: a thread owns a head, and adds up its query gradients alone.
// Few heads: one head at a time, each thread has a range of its keys and query sums of its own, which are added up in
// the order of the ranges; a block of keys that most queries see is cut into parts. Either way the bits depend on
// nothing but the number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

#include "weft/kernels/fused/backward.h"
#include "weft/kernels/fused/long_items.h"
#include "weft/kernels/fused/scores/distance_panel.h"
#include "weft/kernels/fused/work.h"

namespace weft::kernels {

/// More threads than this share no head: their sums would cost more than they bring.
inline constexpr std::int64_t kMostRanges = 64;

template <class Isa, class Storage>
class BackwardPass {
  using Memory = typename Storage::Memory;
  using Sums = std::unique_ptr<const OwnQuerySums<Isa>>;

 public:
  BackwardPass(const AttentionArguments& arguments, const AttentionGradients& gradients,
               const ParallelFor& parallel) noexcept
      : arguments_(arguments),
        gradients_(gradients),
        parallel_(parallel),
        group_(arguments.heads / arguments.key_heads),
        distances_(arguments, gradients) {}

  /// False when there was no memory.
  bool run() noexcept {
    if (!distances_.is_there()) {
      return false;
    }
    const std::int64_t owners = arguments_.batch * arguments_.key_heads;
    const auto cost = [this](std::int64_t owner) { return cost_of(place_of(owner)); };
    const std::int64_t threads = smaller(owners, parallel_.threads());
    if (Shares<Isa, decltype(cost)>(owners, threads, cost).slowness(parallel_.threads()) < kMostSlowness) {
      share_out<Isa>(parallel_, owners, cost, [&](std::int64_t begin, std::int64_t end) { run_heads(begin, end); });
    } else {
      for (std::int64_t owner = 0; owner < owners && succeeded_; ++owner) {
        run_ranges(place_of(owner));
      }
    }
    distances_.store();
    return succeeded_;
  }

 private:
  // Whole heads are worth some waiting: ranges of keys need sums of their own.
  static constexpr double kMostSlowness = 1.15;

  // Block 0 of the key head that an owner stands for.
  RowIndex place_of(std::int64_t owner) const noexcept {
    return {owner / arguments_.key_heads, owner % arguments_.key_heads, 0};
  }

  // Blocks of the layout in the columns of one block of keys, over the heads that share it.
  pattern::BlockRange blocks_of(const RowIndex& place, std::int64_t key_block) const noexcept {
    std::int64_t blocks = 0;
    for (std::int64_t head = place.head * group_; head < (place.head + 1) * group_; ++head) {
      blocks += gradients_.transpose.column(arguments_.layout, place.batch, head, key_block).count();
    }
    return {0, blocks};
  }

  double column_cost(const RowIndex& place, std::int64_t key_block) const noexcept {
    return static_cast<double>(blocks_of(place, key_block).count()) + 0.5;
  }

  double cost_of(const RowIndex& place) const noexcept {
    double cost = 0;
    for (std::int64_t key_block = 0; key_block < arguments_.layout.key_blocks; ++key_block) {
      cost += column_cost(place, key_block);
    }
    return cost;
  }

  void out_of_memory() noexcept { __atomic_store_n(&succeeded_, false, __ATOMIC_RELAXED); }

  void run_heads(std::int64_t begin, std::int64_t end) noexcept {
    FusedBackward<Isa, Storage> backward(arguments_, gradients_);
    for (std::int64_t owner = begin; owner < end; ++owner) {
      if (!backward.is_there() || !run_head(backward, place_of(owner))) {
        return out_of_memory();
      }
    }
  }

  bool run_head(FusedBackward<Isa, Storage>& backward, const RowIndex& place) noexcept {
    const QueryExtent all{0, arguments_.layout.query_blocks};
    const Sums own = make_sums(all, all, place);
    if (!own) {
      return false;
    }
    const BackwardSums sums{own->sums(result_rows(place)), distances_.of(place.batch, place.head * group_)};
    for (std::int64_t block = 0; block < arguments_.layout.key_blocks; ++block) {
      backward.run({place.batch, place.head, block}, blocks_of(place, block), sums);
    }
    for (std::int64_t query = 0; query < group_ * arguments_.query_length; ++query) {
      store_query(place, query, &own, 1);
    }
    return true;
  }

  // The query gradients of the heads of a place. Not looked at where sums cannot stand in them.
  QuerySumRows result_rows(const RowIndex& place) const noexcept {
    const Output& result = gradients_.query_gradient;
    return {static_cast<float*>(result.data) + place.batch * result.batch_stride, result.head_stride, result.row_stride,
            0, 0};
  }

  void run_ranges(const RowIndex& place) noexcept {
    const auto cost = [&](std::int64_t key_block) { return column_cost(place, key_block); };
    const LongItems<Isa, decltype(cost)> items(arguments_.layout.key_blocks, parallel_.threads(), cost);
    const Buffer<Isa, float> parts(items.parts() * FusedBackward<Isa, Storage>::part_size(arguments_));
    const std::int64_t ranges = larger(1, smaller(smaller(parallel_.threads(), kMostRanges), items.pieces()));
    const Buffer<Isa, float> tables(ranges * group_ * distances_.entries());
    if (!items.is_there() || !parts.is_there() || !tables.is_there()) {
      return out_of_memory();
    }
    distances_.clear(tables.data(), ranges * group_);
    Sums sums[kMostRanges];
    QueryExtent extents[kMostRanges];
    const auto piece_cost = [&](std::int64_t piece) { return items.cost(piece); };
    const Shares<Isa, decltype(piece_cost)> shares(items.pieces(), ranges, piece_cost);
    for (std::int64_t range = 0; range < ranges; ++range) {
      extents[range] = {0, 0};
      shares.run(range, range + 1, [&](std::int64_t begin, std::int64_t end) {
        extents[range] = extent_of_pieces(items, place, {begin, end});
      });
    }
    parallel_for(parallel_, ranges, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t range = first; range < last; ++range) {
        const QueryExtent in_result = apart(extents, range, ranges);
        sums[range] = make_sums(extents[range], in_result, place);
        const DistanceSums distances =
            distances_.in(tables.data() + range * group_ * distances_.entries(), place.head * group_);
        shares.run(range, range + 1, [&](std::int64_t begin, std::int64_t end) {
          if (sums[range]) {
            run_pieces(items, place, {begin, end}, {sums[range]->sums(result_rows(place)), distances}, parts.data());
          } else {
            out_of_memory();
          }
        });
      }
    });
    if (items.parts() > 0 && succeeded_) {
      merge(items, place, parts.data());
    }
    distances_.merge(distances_.of(place.batch, place.head * group_), tables.data(), ranges, group_);
    parallel_for(parallel_, group_ * arguments_.query_length, kTile, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t query = first; query < last && succeeded_; ++query) {
        store_query(place, query, sums, ranges);
      }
    });
  }

  // Null where there is no memory. Queries of `alone` are summed in the result where it can hold sums.
  Sums make_sums(const QueryExtent& extent, const QueryExtent& alone, const RowIndex& place) const noexcept {
    const bool in_place = sums_in_place<Isa, Storage>(arguments_);
    Sums own(new (std::nothrow) OwnQuerySums<Isa>(
        arguments_, extent, in_place ? alone : QueryExtent{extent.end, extent.end}, place.head * group_, group_));
    if (!own || !own->is_there()) {
      return nullptr;
    }
    clear_result(place, own->in_result());
    return own;
  }

  void clear_result(const RowIndex& place, const QueryRange& queries) const noexcept {
    for (std::int64_t head = place.head * group_; head < (place.head + 1) * group_; ++head) {
      for (std::int64_t query = queries.begin; query < queries.end; ++query) {
        __builtin_memset(row_of<Storage>(gradients_.query_gradient, {place.batch, head, query}), 0,
                         static_cast<std::size_t>(arguments_.head_dim) * sizeof(Memory));
      }
    }
  }

  // The queries that see what the pieces [begin, end) look at.
  template <typename Items>
  QueryExtent extent_of_pieces(const Items& items, const RowIndex& place,
                               const pattern::BlockRange& pieces) const noexcept {
    QueryExtent extent{0, 0};
    for (std::int64_t piece = pieces.begin; piece < pieces.end; ++piece) {
      if (items.at(piece).parts > 0) {
        const RowIndex at{place.batch, place.head, items.at(piece).item};
        extent = joined(extent, extent_of<Isa>(arguments_, gradients_.transpose, at));
      }
    }
    return extent;
  }

  template <typename Items>
  void run_pieces(const Items& items, const RowIndex& place, const pattern::BlockRange& pieces,
                  const BackwardSums& sums, float* parts) noexcept {
    FusedBackward<Isa, Storage> backward(arguments_, gradients_);
    if (!backward.is_there()) {
      return out_of_memory();
    }
    for (std::int64_t at = pieces.begin; at < pieces.end; ++at) {
      const WorkPiece piece = items.at(at);
      const KeyPlace keys{place.batch, place.head, piece.item};
      const pattern::BlockRange blocks = blocks_of(place, piece.item);
      if (piece.is_whole()) {
        backward.run(keys, blocks, sums);
      } else if (piece.parts > 1) {
        backward.run_part(keys, piece.of(blocks), sums, parts + piece.slot * backward.part_size(arguments_));
      }
    }
  }

  template <typename Items>
  void merge(const Items& items, const RowIndex& place, const float* parts) noexcept {
    FusedBackward<Isa, Storage> backward(arguments_, gradients_);
    if (!backward.is_there()) {
      return out_of_memory();
    }
    items.each_long([&](std::int64_t item, std::int64_t first, std::int64_t count) {
      backward.merge({place.batch, place.head, item}, parts + first * backward.part_size(arguments_), count);
    });
  }

  // Item = head within the group * query_length + query. What is summed in the result is there.
  void store_query(const RowIndex& place, std::int64_t item, const Sums* sums, std::int64_t count) noexcept {
    const std::int64_t head = place.head * group_ + item / arguments_.query_length;
    const std::int64_t query = item % arguments_.query_length;
    float total[kMaximumHeadDim];
    for (std::int64_t range = 0; range < count; ++range) {
      if (sums[range] && sums[range]->in_result().has(query)) {
        return;
      }
    }
    for (std::int64_t column = 0; column < arguments_.head_dim; column += Isa::kLanes) {
      typename Isa::Vector sum = Isa::zero();
      for (std::int64_t range = 0; range < count; ++range) {
        const float* found = sums[range] ? sums[range]->find(head, query) : nullptr;
        sum = found == nullptr ? sum : Isa::add(sum, Isa::load(found + column));
      }
      Isa::store(total + column, sum);
    }
    narrow_row<Isa>(row_of<Storage>(gradients_.query_gradient, {place.batch, head, query}), total, arguments_.head_dim);
  }

  const AttentionArguments& arguments_;
  const AttentionGradients& gradients_;
  const ParallelFor& parallel_;
  std::int64_t group_;
  DistanceGradient<Isa> distances_;
  bool succeeded_ = true;
};

}  // namespace weft::kernels
