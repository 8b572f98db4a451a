// SPDX-License-Identifier: Apache-2.0
// The plain forward pass: a row at a time, a block at a time, an edge at a time. What fused kernels are tested against
// in the rooms without Torch, and the proof that AttentionArguments carries all that they need.
#include "weft/kernels/block_row.h"
#include "weft/kernels/distance_table.h"
#include "weft/kernels/dropout.h"
#include "weft/kernels/relative_product.h"
#include "weft/kernels/rows.h"
#include "weft/kernels/softmax_state.h"
#include "weft/kernels/storage.h"

namespace weft::kernels {
namespace {

// Scores are kept for this many keys at a time.
constexpr std::int64_t kSpan = 64;

template <typename Storage>
class ForwardRow {
  using Sum = typename Storage::Sum;

 public:
  ForwardRow(const AttentionArguments& arguments, const RowIndex& at) noexcept
      : arguments_(arguments),
        at_(at),
        key_head_(at.head / (arguments.heads / arguments.key_heads)),
        query_(row_of<Storage>(arguments.query, at)),
        dropout_(arguments.dropout, at.batch, at.head, at.row) {}

  void add(const BlockRow& block) noexcept {
    for (std::int64_t first = 0; first < block.keys(); first += kSpan) {
      const std::int64_t left = block.keys() - first;
      add_span(block, first, left < kSpan ? left : kSpan);
    }
  }

  void finish() noexcept {
    store_row<Storage>(row_of<Storage>(arguments_.output, at_), output_, state_.finish(), arguments_.value_dim);
    const std::int64_t row = (at_.batch * arguments_.heads + at_.head) * arguments_.query_length + at_.row;
    static_cast<Sum*>(arguments_.log_sum_exp)[row] = state_.log_sum_exp();
  }

 private:
  void add_span(const BlockRow& block, std::int64_t first, std::int64_t count) noexcept {
    Sum weights[kSpan];
    for (std::int64_t key = 0; key < count; ++key) {
      weights[key] = score(block, first + key);
    }
    const Sum factor = state_.update(weights, count);
    for (std::int64_t column = 0; column < arguments_.value_dim; ++column) {
      output_[column] *= factor;
    }
    for (std::int64_t key = 0; key < count; ++key) {
      if (block.has_edge(first + key)) {
        state_.has_edges = true;
        const std::int64_t position = block.first_key() + first + key;
        const Sum kept = static_cast<Sum>(dropout_.multiplier(position));
        add_row<Storage>(output_, kept * weights[key], row_of<Storage>(arguments_.value, key_row(position)),
                         arguments_.value_dim);
      }
    }
  }

  Sum score(const BlockRow& block, std::int64_t key) const noexcept {
    const Sum log_weight = block.log_weight(key);
    if (!block.has_edge(key)) {
      return log_weight;
    }
    const std::int64_t position = block.first_key() + key;
    const auto* row = row_of<Storage>(arguments_.key, key_row(position));
    const Sum product =
        dot<Storage>(query_, row, arguments_.head_dim) + relative_score<Storage>(arguments_, at_, position);
    const Sum found = static_cast<Sum>(arguments_.scale) * product +
                      distance_score<Sum>(arguments_.distances, at_.head, at_.row, position);
    const Sum result = (block.is_own(key) ? own_score(found) : found) + log_weight;
    // A key with infinity has no finite score, and the row that attends to it no finite answer: not even where the
    // score is -infinity.
    const bool is_invalid =
        std::isinf(result) && !(is_finite_row<Storage>(row, arguments_.head_dim) && has_finite_relative_row(position));
    return is_invalid ? std::numeric_limits<Sum>::quiet_NaN() : result;
  }

  bool has_finite_relative_row(std::int64_t position) const noexcept {
    return !has_relative(arguments_) ||
           is_finite_row<Storage>(
               relative_row<Storage>(arguments_, at_.head, relative_entry(arguments_.relative, at_.row, position)),
               arguments_.head_dim);
  }

  RowIndex key_row(std::int64_t position) const noexcept { return {at_.batch, key_head_, position}; }

  const AttentionArguments& arguments_;
  RowIndex at_;
  std::int64_t key_head_;
  const typename Storage::Memory* query_;
  DropoutRow dropout_;
  SoftmaxState<Sum> state_;
  Sum output_[kMaximumHeadDim] = {};
};

// Item = (batch * heads + head) * query_blocks + query block.
template <typename Storage>
void forward_item(const AttentionArguments& arguments, std::int64_t item) noexcept {
  const pattern::LayoutView& layout = arguments.layout;
  const std::int64_t query_block = item % layout.query_blocks;
  const std::int64_t head = item / layout.query_blocks % arguments.heads;
  const std::int64_t batch = item / layout.query_blocks / arguments.heads;
  const pattern::BlockRange blocks = layout.row(batch, head, query_block);
  const std::int64_t first_query = query_block * layout.tile_query;
  for (std::int64_t query = 0; query < layout.tile_query && first_query + query < arguments.query_length; ++query) {
    ForwardRow<Storage> row(arguments, {batch, head, first_query + query});
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
      row.add(BlockRow(arguments, {batch, head, first_query + query}, block));
    }
    row.finish();
  }
}

}  // namespace

void attention_forward(const AttentionArguments& arguments, const ParallelFor& parallel) noexcept {
  with_storage(arguments.dtype, [&]<typename Storage>(Storage) {
    const std::int64_t items = arguments.batch * arguments.heads * arguments.layout.query_blocks;
    parallel_for(parallel, items, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t item = begin; item < end; ++item) {
        forward_item<Storage>(arguments, item);
      }
    });
  });
}

}  // namespace weft::kernels
