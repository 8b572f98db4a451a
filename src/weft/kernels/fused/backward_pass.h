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
#include "weft/kernels/fused/head_tables.h"
#include "weft/kernels/fused/long_items.h"
#include "weft/kernels/fused/work.h"

namespace weft::kernels {

/// More threads than this share no head: their sums would cost more than they bring.
inline constexpr std::int64_t kMostRanges = 64;

template <class Isa, class Storage>
class BackwardPass {
  using Memory = typename Storage::Memory;
  using OwnSums = std::unique_ptr<const OwnQuerySums<Isa>>;
  // Of query gradients, and of those of a relative product.
  struct Sums {
    OwnSums query;
    OwnSums relative;
    explicit operator bool() const noexcept { return query != nullptr; }
  };

 public:
  BackwardPass(const AttentionArguments& arguments, const AttentionGradients& gradients,
               const ParallelFor& parallel) noexcept
      : arguments_(arguments),
        gradients_(gradients),
        parallel_(parallel),
        group_(arguments.heads / arguments.key_heads),
        relative_rows_(arguments, parallel),
        distances_(arguments.batch, arguments.heads,
                   gradients.distance_gradient == nullptr ? 0 : arguments.distances.rows * arguments.distances.span),
        relative_(arguments.batch, arguments.heads,
                  gradients.relative_rows_gradient == nullptr ? 0 : relative_rows_.count() * relative_rows_.width()) {}

  /// False when there was no memory.
  bool run() noexcept {
    if (!distances_.is_there() || !relative_rows_.is_there() || !relative_.is_there()) {
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
    store_tables();
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
    FusedBackward<Isa, Storage> backward(arguments_, gradients_, relative_rows_);
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
    const std::int64_t head = place.head * group_;
    const BackwardSums sums = sums_of(own, place, distances_.of(place.batch, head), relative_.of(place.batch, head));
    constexpr std::int64_t kColumns = FusedBackward<Isa, Storage>::kMostColumns;
    for (std::int64_t block = 0; block < arguments_.layout.key_blocks; block += kColumns) {
      backward.run({place.batch, place.head, block}, smaller(kColumns, arguments_.layout.key_blocks - block), sums);
    }
    for (std::int64_t query = 0; query < group_ * arguments_.query_length; ++query) {
      store_query(place, query, &own, 1);
    }
    return true;
  }

  bool has_relative_gradient() const noexcept { return relative_.entries() > 0; }

  BackwardSums sums_of(const Sums& own, const RowIndex& place, const HeadTables& distances,
                       const HeadTables& relative) const noexcept {
    return {own.query->sums(result_rows(gradients_.query_gradient, place)), distances,
            own.relative ? own.relative->sums(result_rows(gradients_.relative_query_gradient, place)) : QuerySums{},
            relative};
  }

  // The query gradients of the heads of a place. Not looked at where sums cannot stand in them.
  static QuerySumRows result_rows(const Output& result, const RowIndex& place) noexcept {
    return {static_cast<float*>(result.data) + place.batch * result.batch_stride, result.head_stride, result.row_stride,
            0, 0};
  }

  void run_ranges(const RowIndex& place) noexcept {
    const auto cost = [&](std::int64_t key_block) { return column_cost(place, key_block); };
    const LongItems<Isa, decltype(cost)> items(arguments_.layout.key_blocks, parallel_.threads(), cost);
    const Buffer<Isa, float> parts(items.parts() * FusedBackward<Isa, Storage>::part_size(arguments_));
    const std::int64_t ranges = larger(1, smaller(smaller(parallel_.threads(), kMostRanges), items.pieces()));
    const Buffer<Isa, float> tables(ranges * group_ * distances_.entries());
    const Buffer<Isa, float> relative_tables(ranges * group_ * relative_.entries());
    if (!items.is_there() || !parts.is_there() || !tables.is_there() || !relative_tables.is_there()) {
      return out_of_memory();
    }
    distances_.clear(tables.data(), ranges * group_);
    relative_.clear(relative_tables.data(), ranges * group_);
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
        const HeadTables distances =
            distances_.in(tables.data() + range * group_ * distances_.entries(), place.head * group_);
        const HeadTables relative =
            relative_.in(relative_tables.data() + range * group_ * relative_.entries(), place.head * group_);
        shares.run(range, range + 1, [&](std::int64_t begin, std::int64_t end) {
          if (sums[range]) {
            run_pieces(items, place, {begin, end}, sums_of(sums[range], place, distances, relative), parts.data());
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
    relative_.merge(relative_.of(place.batch, place.head * group_), relative_tables.data(), ranges, group_);
    parallel_for(parallel_, group_ * arguments_.query_length, kTile, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t query = first; query < last && succeeded_; ++query) {
        store_query(place, query, sums, ranges);
      }
    });
  }

  // Null where there is no memory. Queries of `alone` are summed in the result where it can hold sums.
  Sums make_sums(const QueryExtent& extent, const QueryExtent& alone, const RowIndex& place) const noexcept {
    Sums sums{own_sums(extent, alone, place, gradients_.query_gradient), nullptr};
    if (sums && has_relative_gradient()) {
      sums.relative = own_sums(extent, alone, place, gradients_.relative_query_gradient);
      sums.query = sums.relative ? std::move(sums.query) : nullptr;
    }
    return sums;
  }

  OwnSums own_sums(const QueryExtent& extent, const QueryExtent& alone, const RowIndex& place,
                   const Output& result) const noexcept {
    const bool in_place = sums_in_place<Isa, Storage>(arguments_);
    OwnSums own(new (std::nothrow) OwnQuerySums<Isa>(
        arguments_, extent, in_place ? alone : QueryExtent{extent.end, extent.end}, place.head * group_, group_));
    if (!own || !own->is_there()) {
      return nullptr;
    }
    clear_result(result, place, own->in_result());
    return own;
  }

  void clear_result(const Output& result, const RowIndex& place, const QueryRange& queries) const noexcept {
    for (std::int64_t head = place.head * group_; head < (place.head + 1) * group_; ++head) {
      for (std::int64_t query = queries.begin; query < queries.end; ++query) {
        __builtin_memset(row_of<Storage>(result, {place.batch, head, query}), 0,
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
    FusedBackward<Isa, Storage> backward(arguments_, gradients_, relative_rows_);
    if (!backward.is_there()) {
      return out_of_memory();
    }
    for (std::int64_t at = pieces.begin; at < pieces.end; ++at) {
      const WorkPiece piece = items.at(at);
      const KeyPlace keys{place.batch, place.head, piece.item};
      if (piece.is_whole()) {
        const std::int64_t count = neighbours_from(items, at, pieces.end);
        backward.run(keys, count, sums);
        at += count - 1;
      } else if (piece.parts > 1) {
        const pattern::BlockRange blocks = blocks_of(place, piece.item);
        backward.run_part(keys, piece.of(blocks), sums, parts + piece.slot * backward.part_size(arguments_));
      }
    }
  }

  // Whole items from `at` on that follow each other, as many as go together.
  template <typename Items>
  static std::int64_t neighbours_from(const Items& items, std::int64_t at, std::int64_t end) noexcept {
    const std::int64_t most = smaller(FusedBackward<Isa, Storage>::kMostColumns, end - at);
    std::int64_t count = 1;
    while (count < most && items.at(at + count).is_whole()) {
      ++count;
    }
    return count;
  }

  template <typename Items>
  void merge(const Items& items, const RowIndex& place, const float* parts) noexcept {
    FusedBackward<Isa, Storage> backward(arguments_, gradients_, relative_rows_);
    if (!backward.is_there()) {
      return out_of_memory();
    }
    items.each_long([&](std::int64_t item, std::int64_t first, std::int64_t count) {
      backward.merge({place.batch, place.head, item}, parts + first * backward.part_size(arguments_), count);
    });
  }

  // Item = head within the group * query_length + query. What is summed in the result is there.
  void store_query(const RowIndex& place, std::int64_t item, const Sums* sums, std::int64_t count) noexcept {
    const RowIndex query{place.batch, place.head * group_ + item / arguments_.query_length,
                         item % arguments_.query_length};
    for (std::int64_t range = 0; range < count; ++range) {
      if (sums[range] && sums[range].query->in_result().has(query.row)) {
        return;
      }
    }
    const auto total = [&](const Output& result, const auto& own) {
      float numbers[kMaximumHeadDim];
      for (std::int64_t column = 0; column < arguments_.head_dim; column += Isa::kLanes) {
        typename Isa::Vector sum = Isa::zero();
        for (std::int64_t range = 0; range < count; ++range) {
          const float* found = sums[range] ? own(sums[range])->find(query.head, query.row) : nullptr;
          sum = found == nullptr ? sum : Isa::add(sum, Isa::load(found + column));
        }
        Isa::store(numbers + column, sum);
      }
      narrow_row<Isa>(row_of<Storage>(result, query), numbers, arguments_.head_dim);
    };
    total(gradients_.query_gradient, [](const Sums& own) { return own.query.get(); });
    if (has_relative_gradient()) {
      total(gradients_.relative_query_gradient, [](const Sums& own) { return own.relative.get(); });
    }
  }

  // The gradients that are sums over the batch. Copies of the rows at the ends of R are added to those.
  void store_tables() noexcept {
    auto* distances = static_cast<float*>(gradients_.distance_gradient);
    for (std::int64_t at = 0; at < arguments_.heads * distances_.entries(); ++at) {
      distances[at] = distances_.total(at / distances_.entries(), at % distances_.entries());
    }
    auto* rows = static_cast<float*>(gradients_.relative_rows_gradient);
    const std::int64_t size = arguments_.relative.span * arguments_.head_dim;
    for (std::int64_t at = 0; at < (rows == nullptr ? 0 : arguments_.heads * size); ++at) {
      rows[at] = 0;
    }
    for (std::int64_t head = 0; rows != nullptr && head < arguments_.heads; ++head) {
      for (std::int64_t row = 0; row < relative_rows_.count(); ++row) {
        float* to = rows + head * size + relative_rows_.entry_of(row) * arguments_.head_dim;
        for (std::int64_t column = 0; column < arguments_.head_dim; ++column) {
          to[column] += relative_.total(head, row * relative_rows_.width() + column);
        }
      }
    }
  }

  const AttentionArguments& arguments_;
  const AttentionGradients& gradients_;
  const ParallelFor& parallel_;
  std::int64_t group_;
  RelativeRows<Isa, Storage> relative_rows_;
  TableGradient<Isa> distances_;
  TableGradient<Isa> relative_;
  bool succeeded_ = true;
};

}  // namespace weft::kernels
