// SPDX-License-Identifier: Apache-2.0
// What the backward pass needs of a block of queries, packed at most once while it stays in a thread's cache:
// neighbouring key blocks are seen by the same queries.
#pragma once

#include <cstdint>
#include <limits>

#include "weft/kernels/arguments.h"
#include "weft/kernels/fused/block_cache.h"
#include "weft/kernels/fused/matrix.h"
#include "weft/kernels/fused/spoiled_rows.h"
#include "weft/kernels/relative_product.h"
#include "weft/kernels/rows.h"

namespace weft::kernels {

template <typename Unit>
struct QueryBlock {
  const Unit* query_panels;            ///< [panel][unit of head_dim][kPanel]
  const Unit* output_gradient_panels;  ///< [panel][unit of value_dim][kPanel]
  Matrix<Unit> query;                  ///< steps only
  Matrix<Unit> output_gradient;        ///< steps only
  const Unit* relative_panels;         ///< of Q2, as the next one; not set without a relative product
  Matrix<Unit> relative;               ///< steps only
  std::int64_t queries;                ///< that exist
  float log_sum_exp[kTile];            ///< +infinity for rows that are empty, lost or beyond the end: probability 0
  float delta[kTile];                  ///< rowsum(dO * O)
  SpoiledQueries spoiled;              ///< rows whose memory counts as zero (of those that are unbounded, dO)
};

template <class Isa, class Storage>
class QueryBlocks {
  using Memory = typename Storage::Memory;
  using Packer = MatrixPacker<Isa, Memory>;
  using Unit = typename Packer::Unit;

 public:
  QueryBlocks(const AttentionArguments& arguments, const AttentionGradients& gradients) noexcept
      : arguments_(arguments),
        gradients_(gradients),
        query_panels_(kTile * Packer::units(arguments.head_dim)),
        value_panels_(kTile * Packer::units(arguments.value_dim)),
        cache_(arguments.layout.query_blocks,
               (query_panels_ + Packer::room(arguments.head_dim)) * (has_relative(arguments) ? 2 : 1) + value_panels_ +
                   Packer::room(arguments.value_dim)) {}

  bool is_there() const noexcept { return cache_.is_there(); }

  const QueryBlock<Unit>& get(std::int64_t batch, std::int64_t head, std::int64_t query_block) noexcept {
    return cache_.get(number(batch, head, query_block),
                      [&](QueryBlock<Unit>& block, Unit* room) { fill(block, room, {batch, head, query_block}); });
  }

  /// A number that a block has to itself.
  std::int64_t number(std::int64_t batch, std::int64_t head, std::int64_t query_block) const noexcept {
    return (batch * arguments_.heads + head) * arguments_.layout.query_blocks + query_block;
  }
  /// Whether getting the block of a number invalidates that of another one.
  bool evicts(std::int64_t number, std::int64_t other) const noexcept {
    return number != other && cache_.share_slot(number, other);
  }

 private:
  // `at.row` counts blocks.
  void fill(QueryBlock<Unit>& block, Unit* room, const RowIndex& at) const noexcept {
    const RowIndex first{at.batch, at.head, at.row * arguments_.layout.tile_query};
    block.queries = smaller(arguments_.layout.tile_query, arguments_.query_length - first.row);
    const std::uint64_t empty = read_results(block, first);
    const std::uint64_t lost = block.spoiled.lost;
    const Rows<Memory> query{row_of<Storage>(arguments_.query, first), arguments_.query.row_stride, block.queries,
                             arguments_.head_dim, empty | lost};
    const Rows<Memory> gradient{row_of<Storage>(gradients_.output_gradient, first),
                                gradients_.output_gradient.row_stride, block.queries, arguments_.value_dim,
                                empty | lost | block.spoiled.unbounded};
    Unit* panels = room + query_panels_;
    Packer::pack_panels(query, room);
    Packer::pack_panels(gradient, panels);
    block.query_panels = room;
    block.output_gradient_panels = panels;
    block.query = Packer::pack(query, Sides::kSteps, panels + value_panels_);
    block.output_gradient =
        Packer::pack(gradient, Sides::kSteps, panels + value_panels_ + Packer::room(arguments_.head_dim));
    if (has_relative(arguments_)) {
      const Input& input = arguments_.relative.query;
      const Rows<Memory> relative{row_of<Storage>(input, first), input.row_stride, block.queries, arguments_.head_dim,
                                  empty | lost};
      Unit* more = panels + value_panels_ + Packer::room(arguments_.head_dim) + Packer::room(arguments_.value_dim);
      Packer::pack_panels(relative, more);
      block.relative_panels = more;
      block.relative = Packer::pack(relative, Sides::kSteps, more + query_panels_);
    }
  }

  // Fills log_sum_exp, delta and spoiled; returns a bit for each row without edges, whose memory nobody looks at.
  std::uint64_t read_results(QueryBlock<Unit>& block, const RowIndex& first) const noexcept {
    const std::int64_t row = (first.batch * arguments_.heads + first.head) * arguments_.query_length + first.row;
    const float* log_sum_exp = static_cast<const float*>(arguments_.log_sum_exp) + row;
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    std::uint64_t empty = 0;
    block.spoiled = {};
    for (std::int64_t query = 0; query < kTile; ++query) {
      const std::uint64_t bit = std::uint64_t{query < block.queries ? 1U : 0U} << query;
      block.log_sum_exp[query] = kInfinity;
      block.delta[query] = 0.0F;
      if (bit == 0 || log_sum_exp[query] == -kInfinity) {
        empty |= bit;
      } else if (!__builtin_isfinite(log_sum_exp[query])) {
        block.spoiled.lost |= bit;
      } else {
        const float sum = delta({first.batch, first.head, first.row + query});
        const bool is_bounded = __builtin_isfinite(sum);
        block.log_sum_exp[query] = log_sum_exp[query];
        block.delta[query] = is_bounded ? sum : 0.0F;
        block.spoiled.unbounded |= is_bounded ? 0 : bit;
      }
    }
    return empty;
  }

  float delta(const RowIndex& at) const noexcept {
    const Memory* output = row_of<Storage>(arguments_.output, at);
    const Memory* gradient = row_of<Storage>(gradients_.output_gradient, at);
    typename Isa::Vector sum = Isa::zero();
    for (std::int64_t column = 0; column < arguments_.value_dim; column += Isa::kLanes) {
      const std::int64_t count = arguments_.value_dim - column;
      sum = Isa::multiply_add(widen_part<Isa>(output + column, count), widen_part<Isa>(gradient + column, count), sum);
    }
    float lanes[Isa::kLanes];
    Isa::store(lanes, sum);
    for (int half = Isa::kLanes / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) {
        lanes[lane] += lanes[lane + half];
      }
    }
    return lanes[0];
  }

  const AttentionArguments& arguments_;
  const AttentionGradients& gradients_;
  std::int64_t query_panels_;
  std::int64_t value_panels_;
  BlockCache<Isa, QueryBlock<Unit>, Unit> cache_;
};

}  // namespace weft::kernels
