// SPDX-License-Identifier: Apache-2.0
// What the backward pass needs of a block of queries, packed at most once while it stays in a thread's cache:
// neighbouring key blocks are seen by the same queries.
#pragma once

#include <cstdint>
#include <limits>

#include "weft/kernels/arguments.h"
#include "weft/kernels/fused/block_cache.h"
#include "weft/kernels/fused/matrix.h"
#include "weft/kernels/rows.h"

namespace weft::kernels {

template <typename Unit>
struct QueryBlock {
  const Unit* query_panels;            ///< [panel][unit of head_dim][kPanel]
  const Unit* output_gradient_panels;  ///< [panel][unit of value_dim][kPanel]
  Matrix<Unit> query;                  ///< steps only
  Matrix<Unit> output_gradient;        ///< steps only
  std::int64_t queries;                ///< that exist
  float log_sum_exp[kTile];            ///< +infinity for rows without edges and beyond the end: probability 0
  float delta[kTile];                  ///< rowsum(dO * O)
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
               query_panels_ + value_panels_ + Packer::room(arguments.head_dim) + Packer::room(arguments.value_dim)) {}

  bool is_there() const noexcept { return cache_.is_there(); }

  const QueryBlock<Unit>& get(std::int64_t batch, std::int64_t head, std::int64_t query_block) noexcept {
    const std::int64_t tag = (batch * arguments_.heads + head) * arguments_.layout.query_blocks + query_block;
    return cache_.get(tag, [&](QueryBlock<Unit>& block, Unit* room) { fill(block, room, {batch, head, query_block}); });
  }

 private:
  // `at.row` counts blocks.
  void fill(QueryBlock<Unit>& block, Unit* room, const RowIndex& at) const noexcept {
    const RowIndex first{at.batch, at.head, at.row * arguments_.layout.tile_query};
    block.queries = smaller(arguments_.layout.tile_query, arguments_.query_length - first.row);
    const std::uint64_t empty = read_results(block, first);
    const Rows<Memory> query{row_of<Storage>(arguments_.query, first), arguments_.query.row_stride, block.queries,
                             arguments_.head_dim, empty};
    const Rows<Memory> gradient{row_of<Storage>(gradients_.output_gradient, first),
                                gradients_.output_gradient.row_stride, block.queries, arguments_.value_dim, empty};
    Unit* panels = room + query_panels_;
    Packer::pack_panels(query, room);
    Packer::pack_panels(gradient, panels);
    block.query_panels = room;
    block.output_gradient_panels = panels;
    block.query = Packer::pack(query, Sides::kSteps, panels + value_panels_);
    block.output_gradient =
        Packer::pack(gradient, Sides::kSteps, panels + value_panels_ + Packer::room(arguments_.head_dim));
  }

  // Fills log_sum_exp and delta; returns a bit for each row without edges, whose memory nobody looks at.
  std::uint64_t read_results(QueryBlock<Unit>& block, const RowIndex& first) const noexcept {
    const std::int64_t row = (first.batch * arguments_.heads + first.head) * arguments_.query_length + first.row;
    const float* log_sum_exp = static_cast<const float*>(arguments_.log_sum_exp) + row;
    std::uint64_t empty = 0;
    for (std::int64_t query = 0; query < kTile; ++query) {
      const bool has_edges = query < block.queries && log_sum_exp[query] != -std::numeric_limits<float>::infinity();
      block.log_sum_exp[query] = has_edges ? log_sum_exp[query] : std::numeric_limits<float>::infinity();
      block.delta[query] = has_edges ? delta({first.batch, first.head, first.row + query}) : 0.0F;
      empty |= std::uint64_t{query < block.queries && !has_edges ? 1U : 0U} << query;
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
