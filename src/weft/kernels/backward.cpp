// SPDX-License-Identifier: Apache-2.0
// The plain backward pass in two sweeps, each with one owner for what it writes: query gradients by rows, key and value
// gradients by columns through the transpose; further sweeps where a distance table or a relative product has
// gradients. Sums are in a fixed order, whatever the number of threads.
#include <cmath>
#include <limits>

#include "weft/kernels/block_row.h"
#include "weft/kernels/distance_table.h"
#include "weft/kernels/dropout.h"
#include "weft/kernels/relative_product.h"
#include "weft/kernels/rows.h"
#include "weft/kernels/storage.h"

namespace weft::kernels {
namespace {

// What both sweeps know of one query row.
template <typename Storage>
class BackwardRow {
  using Sum = typename Storage::Sum;
  using Memory = typename Storage::Memory;

 public:
  // What an edge passes on: dropped probability (for dV) and gradient of the score (for dQ and dK, times the scale).
  struct Edge {
    Sum probability;
    Sum score_gradient;
  };

  BackwardRow(const AttentionArguments& arguments, const AttentionGradients& gradients, const RowIndex& at) noexcept
      : arguments_(arguments),
        at_(at),
        query_(row_of<Storage>(arguments.query, at)),
        output_gradient_(row_of<Storage>(gradients.output_gradient, at)),
        dropout_(arguments.dropout, at.batch, at.head, at.row) {
    const Memory* output = row_of<Storage>(arguments.output, at);
    const std::int64_t row = (at.batch * arguments.heads + at.head) * arguments.query_length + at.row;
    log_sum_exp_ = static_cast<const Sum*>(arguments.log_sum_exp)[row];
    delta_ = dot<Storage>(output_gradient_, output, arguments.value_dim);
  }

  bool is_empty() const noexcept { return log_sum_exp_ == -std::numeric_limits<Sum>::infinity(); }
  const Memory* query() const noexcept { return query_; }
  const Memory* output_gradient() const noexcept { return output_gradient_; }

  // `key` is seen in `block`.
  Edge edge(const RowIndex& key, const BlockRow& block) noexcept {
    const Sum scale = static_cast<Sum>(arguments_.scale);
    const std::int64_t in_block = key.row - block.first_key();
    const bool is_own = block.is_own(in_block);
    const Sum product = dot<Storage>(query_, row_of<Storage>(arguments_.key, key), arguments_.head_dim) +
                        relative_score<Storage>(arguments_, at_, key.row);
    const Sum found = scale * product + distance_score<Sum>(arguments_.distances, at_.head, at_.row, key.row);
    const Sum score = (is_own ? own_score(found) : found) + block.log_weight(in_block);
    const Sum probability = std::exp(score - log_sum_exp_);
    const Sum kept = static_cast<Sum>(dropout_.multiplier(key.row));
    const Sum incoming = dot<Storage>(output_gradient_, row_of<Storage>(arguments_.value, key), arguments_.value_dim);
    const Sum gradient = probability * (kept * incoming - delta_);
    return {probability * kept, is_own ? 0 * gradient : gradient};  // a constant score has none; NaN stays
  }

 private:
  const AttentionArguments& arguments_;
  RowIndex at_;
  const Memory* query_;
  const Memory* output_gradient_;
  DropoutRow dropout_;
  Sum log_sum_exp_;
  Sum delta_;
};

template <typename Storage>
class Backward {
  using Sum = typename Storage::Sum;

 public:
  Backward(const AttentionArguments& arguments, const AttentionGradients& gradients) noexcept
      : arguments_(arguments), gradients_(gradients), group_(arguments.heads / arguments.key_heads) {}

  std::int64_t row_items() const noexcept { return arguments_.batch * arguments_.heads * arguments_.query_length; }
  std::int64_t column_items() const noexcept { return arguments_.batch * arguments_.key_heads * arguments_.key_length; }

  // Item = (batch * heads + head) * query_length + query.
  void query_gradient(std::int64_t item) const noexcept {
    const pattern::LayoutView& layout = arguments_.layout;
    const RowIndex at{item / arguments_.query_length / arguments_.heads,
                      item / arguments_.query_length % arguments_.heads, item % arguments_.query_length};
    Sum sums[kMaximumHeadDim] = {};
    BackwardRow<Storage> row(arguments_, gradients_, at);
    const pattern::BlockRange blocks = layout.row(at.batch, at.head, at.row / layout.tile_query);
    for (std::int64_t block = blocks.begin; block < blocks.end && !row.is_empty(); ++block) {
      add_block(row, at, BlockRow(arguments_, at, block), sums);
    }
    store_row<Storage>(row_of<Storage>(gradients_.query_gradient, at), sums, Sum{1}, arguments_.head_dim);
  }

  // Item = (batch * key_heads + key_head) * key_length + key. Adds over the heads of the group, in their order.
  void key_gradient(std::int64_t item) const noexcept {
    const RowIndex key{item / arguments_.key_length / arguments_.key_heads,
                       item / arguments_.key_length % arguments_.key_heads, item % arguments_.key_length};
    ColumnSums sums;
    for (std::int64_t head = key.head * group_; head < (key.head + 1) * group_; ++head) {
      add_column(key, head, sums);
    }
    store_row<Storage>(row_of<Storage>(gradients_.key_gradient, key), sums.key, Sum{1}, arguments_.head_dim);
    store_row<Storage>(row_of<Storage>(gradients_.value_gradient, key), sums.value, Sum{1}, arguments_.value_dim);
  }

  // Of a head, over all edges of all members of the batch.
  void distance_gradient(std::int64_t head) const noexcept {
    const DistanceTable& table = arguments_.distances;
    Sum* sums = static_cast<Sum*>(gradients_.distance_gradient) + head * table.rows * table.span;
    for (std::int64_t entry = 0; entry < table.rows * table.span; ++entry) {
      sums[entry] = 0;
    }
    for (std::int64_t row = 0; row < arguments_.batch * arguments_.query_length; ++row) {
      each_edge({row / arguments_.query_length, head, row % arguments_.query_length},
                [&](const RowIndex& at, const RowIndex& key, Sum gradient) {
                  sums[distance_place(table, at.row, key.row)] += gradient;
                });
    }
  }

  // Of a head: of R, and of the queries of all members of the batch.
  void relative_gradient(std::int64_t head) const noexcept {
    const RelativeProduct& relative = arguments_.relative;
    const std::int64_t width = arguments_.head_dim;
    Sum* rows = static_cast<Sum*>(gradients_.relative_rows_gradient) + head * relative.span * width;
    for (std::int64_t entry = 0; entry < relative.span * width; ++entry) {
      rows[entry] = 0;
    }
    for (std::int64_t row = 0; row < arguments_.batch * arguments_.query_length; ++row) {
      const RowIndex query{row / arguments_.query_length, head, row % arguments_.query_length};
      Sum sums[kMaximumHeadDim] = {};
      each_edge(query, [&](const RowIndex& at, const RowIndex& key, Sum gradient) {
        const std::int64_t entry = relative_entry(relative, at.row, key.row);
        add_row<Storage>(sums, scale() * gradient, relative_row<Storage>(arguments_, head, entry), width);
        add_row<Storage>(rows + entry * width, scale() * gradient, row_of<Storage>(relative.query, at), width);
      });
      store_row<Storage>(row_of<Storage>(gradients_.relative_query_gradient, query), sums, Sum{1}, width);
    }
  }

 private:
  struct ColumnSums {
    Sum key[kMaximumHeadDim] = {};
    Sum value[kMaximumHeadDim] = {};
  };

  Sum scale() const noexcept { return static_cast<Sum>(arguments_.scale); }

  // Calls work(query, key, gradient of the score) for the edges of a query.
  template <typename Work>
  void each_edge(const RowIndex& at, const Work& work) const noexcept {
    const pattern::LayoutView& layout = arguments_.layout;
    const pattern::BlockRange blocks = layout.row(at.batch, at.head, at.row / layout.tile_query);
    BackwardRow<Storage> row(arguments_, gradients_, at);
    for (std::int64_t index = blocks.begin; index < blocks.end && !row.is_empty(); ++index) {
      const BlockRow block(arguments_, at, index);
      for (std::int64_t key = 0; key < block.keys(); ++key) {
        if (block.has_edge(key)) {
          const RowIndex key_row{at.batch, at.head / group_, block.first_key() + key};
          work(at, key_row, row.edge(key_row, block).score_gradient);
        }
      }
    }
  }

  void add_block(BackwardRow<Storage>& row, const RowIndex& at, const BlockRow& block, Sum* sums) const noexcept {
    for (std::int64_t key = 0; key < block.keys(); ++key) {
      if (block.has_edge(key)) {
        const RowIndex key_row{at.batch, at.head / group_, block.first_key() + key};
        const auto edge = row.edge(key_row, block);
        add_row<Storage>(sums, scale() * edge.score_gradient, row_of<Storage>(arguments_.key, key_row),
                         arguments_.head_dim);
      }
    }
  }

  void add_column(const RowIndex& key, std::int64_t head, ColumnSums& sums) const noexcept {
    const pattern::LayoutView& layout = arguments_.layout;
    const pattern::BlockRange column = gradients_.transpose.column(layout, key.batch, head, key.row / layout.tile_key);
    for (std::int64_t at = column.begin; at < column.end; ++at) {
      const std::int64_t first_query = std::int64_t{gradients_.transpose.query_block[at]} * layout.tile_query;
      for (std::int64_t query = 0; query < layout.tile_query && first_query + query < arguments_.query_length;
           ++query) {
        const RowIndex row{key.batch, head, first_query + query};
        const BlockRow block(arguments_, row, gradients_.transpose.block[at]);
        if (block.has_edge(key.row % layout.tile_key)) {
          add_edge(key, row, block, sums);
        }
      }
    }
  }

  void add_edge(const RowIndex& key, const RowIndex& query, const BlockRow& block, ColumnSums& sums) const noexcept {
    BackwardRow<Storage> row(arguments_, gradients_, query);
    if (!row.is_empty()) {
      const auto edge = row.edge(key, block);
      add_row<Storage>(sums.key, scale() * edge.score_gradient, row.query(), arguments_.head_dim);
      add_row<Storage>(sums.value, edge.probability, row.output_gradient(), arguments_.value_dim);
    }
  }

  const AttentionArguments& arguments_;
  const AttentionGradients& gradients_;
  std::int64_t group_;
};

}  // namespace

void attention_backward(const AttentionArguments& arguments, const AttentionGradients& gradients,
                        const ParallelFor& parallel) noexcept {
  with_storage(arguments.dtype, [&]<typename Storage>(Storage) {
    const Backward<Storage> backward(arguments, gradients);
    parallel_for(parallel, backward.row_items(), arguments.layout.tile_query,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t item = begin; item < end; ++item) {
                     backward.query_gradient(item);
                   }
                 });
    parallel_for(parallel, backward.column_items(), arguments.layout.tile_key,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t item = begin; item < end; ++item) {
                     backward.key_gradient(item);
                   }
                 });
    const bool has_distances = gradients.distance_gradient != nullptr;
    parallel_for(parallel, has_distances ? arguments.heads : 0, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t head = begin; head < end; ++head) {
        backward.distance_gradient(head);
      }
    });
    const bool has_rows = gradients.relative_rows_gradient != nullptr;
    parallel_for(parallel, has_rows ? arguments.heads : 0, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t head = begin; head < end; ++head) {
        backward.relative_gradient(head);
      }
    });
  });
}

}  // namespace weft::kernels
