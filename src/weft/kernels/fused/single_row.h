// SPDX-License-Identifier: Apache-2.0
// One query at a time, for tiles that hold one: a token that is decoded. Its edges are collected
// across blocks, so that the cost follows edges, and a block with one edge reads one key. Panels of 32 queries would
// compute 32 times what there is. Lanes are columns of the key, turned over where a score becomes a number.
#pragma once

#include <cstdint>
#include <limits>

#include "weft/kernels/distance_table.h"
#include "weft/kernels/fused/exponential.h"
#include "weft/kernels/fused/matrix.h"
#include "weft/kernels/fused/work.h"
#include "weft/kernels/relative_product.h"
#include "weft/kernels/row_positions.h"
#include "weft/kernels/rows.h"

namespace weft::kernels {

template <class Isa, class Storage>
class SingleRow {
  using Memory = typename Storage::Memory;
  using Vector = typename Isa::Vector;

 public:
  explicit SingleRow(const AttentionArguments& arguments) noexcept : arguments_(arguments) {}

  void run(const RowIndex& at, const pattern::BlockRange& blocks) noexcept {
    begin(at);
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
      add_block(block);
    }
    add_edges();
    finish();
  }

 private:
  static constexpr std::int64_t kLanes = Isa::kLanes;
  static constexpr std::int64_t kEdges = 128;  // whose scores are worked on at once
  static constexpr float kInfinite = std::numeric_limits<float>::infinity();

  void begin(const RowIndex& at) noexcept {
    at_ = at;
    key_head_ = at.head / (arguments_.heads / arguments_.key_heads);
    if (has_positions(arguments_)) {
      seen_ = seen_positions(arguments_, at);
      positions_ = key_positions(arguments_, at, 0);
    }
    edges_ = 0;
    has_edges_ = false;
    maximum_ = std::numeric_limits<float>::lowest();
    Isa::store(sums_, Isa::zero());
    const Memory* query = row_of<Storage>(arguments_.query, at);
    for (std::int64_t column = 0; column < arguments_.head_dim; column += kLanes) {
      Isa::store(query_ + column, widen_part<Isa>(query + column, arguments_.head_dim - column));
    }
    for (std::int64_t column = 0; has_relative(arguments_) && column < arguments_.head_dim; column += kLanes) {
      const Memory* relative = row_of<Storage>(arguments_.relative.query, at);
      Isa::store(relative_query_ + column, widen_part<Isa>(relative + column, arguments_.head_dim - column));
    }
    for (std::int64_t column = 0; column < arguments_.value_dim; column += kLanes) {
      Isa::store(output_ + column, Isa::zero());
    }
  }

  void add_block(std::int64_t block) noexcept {
    const pattern::LayoutView& layout = arguments_.layout;
    const std::int32_t kind = layout.kind[block];
    const std::int64_t first = std::int64_t{layout.key_block[block]} * kTile;
    const float* weights = pattern::is_weighted(kind) ? layout.weight(kind) : nullptr;
    std::uint64_t keys = low_bits(smaller(kTile, arguments_.key_length - first));
    keys &= pattern::is_partial(kind) ? *layout.mask(kind) : ~std::uint64_t{0};
    for (; keys != 0; keys &= keys - 1) {
      const int key = __builtin_ctzll(keys);
      const float weight = weights == nullptr ? 0.0F : weights[key];
      if (weight > -kInfinite && is_kept(first + key)) {
        keys_[edges_] = first + key;
        weights_[edges_] = weight;
        if (++edges_ == kEdges) {
          add_edges();
        }
      }
    }
  }

  bool is_kept(std::int64_t key) const noexcept {
    const bool is_seen = positions_ == nullptr || seen_.sees(positions_[key]);
    return is_seen &&
           (arguments_.key_keep == nullptr || arguments_.key_keep[at_.batch * arguments_.key_length + key] != 0);
  }

  /// Adds what was collected to the softmax and to the output.
  void add_edges() noexcept {
    if (edges_ == 0) {
      return;
    }
    has_edges_ = true;
    for (std::int64_t edge = 0; edge < edges_; edge += kLanes) {
      Vector sum = products(edge, query_, [this](std::int64_t at) { return key_row(at); });
      if (has_relative(arguments_)) {
        sum = Isa::add(sum, products(edge, relative_query_, [this](std::int64_t at) { return row_of_edge(at); }));
      }
      Isa::store(scores_ + edge, sum);
    }
    finish_scores();
    for (std::int64_t edge = edges_; edge < round_up(edges_, kLanes); ++edge) {
      scores_[edge] = -kInfinite;
    }
    weigh();
    add_values();
    edges_ = 0;
  }

  const Memory* key_row(std::int64_t edge) const noexcept {
    return row_of<Storage>(arguments_.key, {at_.batch, key_head_, keys_[edge]});
  }

  /// Of R.
  const Memory* row_of_edge(std::int64_t edge) const noexcept {
    return relative_row<Storage>(arguments_, at_.head, relative_entry(arguments_.relative, at_.row, keys_[edge]));
  }

  /// Products of `query` and row(edge) of the edges from `first` on, one a lane; of the last edge in lanes beyond it.
  template <typename Row>
  Vector products(std::int64_t first, const float* query, const Row& row) const noexcept {
    const Memory* rows[kLanes];
    Vector sums[kLanes];
#pragma GCC unroll 16
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      rows[lane] = row(smaller(first + lane, edges_ - 1));
      sums[lane] = Isa::zero();
    }
    const std::int64_t whole = arguments_.head_dim / kLanes * kLanes;
    for (std::int64_t column = 0; column < whole; column += kLanes) {
      const Vector numbers = Isa::load(query + column);
#pragma GCC unroll 16
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        sums[lane] = Isa::multiply_add(numbers, Isa::widen(rows[lane] + column), sums[lane]);
      }
    }
    for (std::int64_t lane = 0; lane < kLanes && whole < arguments_.head_dim; ++lane) {
      const Vector rest = widen_part<Isa>(rows[lane] + whole, arguments_.head_dim - whole);
      sums[lane] = Isa::multiply_add(Isa::load(query + whole), rest, sums[lane]);
    }
    Isa::transpose(sums);
#pragma GCC unroll 16
    for (std::int64_t lane = 1; lane < kLanes; ++lane) {
      sums[0] = Isa::add(sums[0], sums[lane]);
    }
    return sums[0];
  }

  void finish_scores() noexcept {
    const auto scale = static_cast<float>(arguments_.scale);
    for (std::int64_t edge = 0; edge < edges_; ++edge) {
      const float found =
          scale * scores_[edge] + distance_score<float>(arguments_.distances, at_.head, at_.row, keys_[edge]);
      const bool is_own = positions_ != nullptr && positions_[keys_[edge]] == seen_.own;
      const float score = (is_own ? own_score(found) : found) + weights_[edge];
      // A key with infinity has no finite score, and its row no finite answer: not even where the score is -infinity.
      const bool is_invalid =
          __builtin_isinf(score) &&
          !(is_finite_row(key_row(edge)) && (!has_relative(arguments_) || is_finite_row(row_of_edge(edge))));
      scores_[edge] = is_invalid ? std::numeric_limits<float>::quiet_NaN() : score;
    }
  }

  bool is_finite_row(const Memory* row) const noexcept {
    float sum = 0;
    for (std::int64_t column = 0; column < arguments_.head_dim; column += kLanes) {
      float numbers[kLanes];
      Isa::store(numbers, Isa::multiply(Isa::zero(), widen_part<Isa>(row + column, arguments_.head_dim - column)));
      for (const float number : numbers) {
        sum += number;
      }
    }
    return sum == 0;
  }

  /// Scores become exp(score - maximum); what was added before is rescaled.
  void weigh() noexcept {
    float lanes[kLanes];
    Vector largest = Isa::set(maximum_);
    for (std::int64_t edge = 0; edge < edges_; edge += kLanes) {
      largest = Isa::maximum(Isa::load(scores_ + edge), largest);
    }
    Isa::store(lanes, Isa::minimum(largest, Isa::set(std::numeric_limits<float>::max())));
    const float before = maximum_;
    for (const float lane : lanes) {
      maximum_ = maximum_ < lane ? lane : maximum_;
    }
    const Vector factor = exponential<Isa>(Isa::set(before - maximum_));
    Vector sums = Isa::multiply(Isa::load(sums_), factor);
    for (std::int64_t edge = 0; edge < edges_; edge += kLanes) {
      const Vector weight = exponential<Isa>(Isa::subtract(Isa::load(scores_ + edge), Isa::set(maximum_)));
      Isa::store(scores_ + edge, weight);
      sums = Isa::add(sums, weight);
    }
    Isa::store(sums_, sums);
    for (std::int64_t column = 0; column < arguments_.value_dim && maximum_ > before; column += kLanes) {
      Isa::store(output_ + column, Isa::multiply(Isa::load(output_ + column), factor));
    }
  }

  void add_values() noexcept {
    std::int64_t column = 0;
    for (; column + 4 * kLanes <= arguments_.value_dim; column += 4 * kLanes) {
      add_columns<4>(column);
    }
    for (; column + kLanes <= arguments_.value_dim; column += kLanes) {
      add_columns<1>(column);
    }
    if (column < arguments_.value_dim) {
      Vector sum = Isa::load(output_ + column);
      for (std::int64_t edge = 0; edge < edges_; ++edge) {
        const Vector value = widen_part<Isa>(value_row(edge) + column, arguments_.value_dim - column);
        sum = Isa::multiply_add(Isa::set(scores_[edge]), value, sum);
      }
      Isa::store(output_ + column, sum);
    }
  }

  template <int kVectors>
  void add_columns(std::int64_t column) noexcept {
    Vector sums[kVectors];
#pragma GCC unroll 4
    for (int vector = 0; vector < kVectors; ++vector) {
      sums[vector] = Isa::load(output_ + column + vector * kLanes);
    }
    for (std::int64_t edge = 0; edge < edges_; ++edge) {
      const Memory* value = value_row(edge) + column;
      const Vector weight = Isa::set(scores_[edge]);
#pragma GCC unroll 4
      for (int vector = 0; vector < kVectors; ++vector) {
        sums[vector] = Isa::multiply_add(weight, Isa::widen(value + vector * kLanes), sums[vector]);
      }
    }
#pragma GCC unroll 4
    for (int vector = 0; vector < kVectors; ++vector) {
      Isa::store(output_ + column + vector * kLanes, sums[vector]);
    }
  }

  const Memory* value_row(std::int64_t edge) const noexcept {
    return row_of<Storage>(arguments_.value, {at_.batch, key_head_, keys_[edge]});
  }

  void finish() noexcept {
    float sum = 0;
    for (const float lane : sums_) {
      sum += lane;
    }
    // Edges whose scores are all -infinity, or one of +infinity, have no softmax.
    const float answer = sum > 0 && __builtin_isfinite(sum) ? sum : std::numeric_limits<float>::quiet_NaN();
    const Vector factor = Isa::set(has_edges_ ? 1.0F / answer : 0.0F);
    Memory* output = row_of<Storage>(arguments_.output, at_);
    for (std::int64_t column = 0; column < arguments_.value_dim; column += kLanes) {
      narrow_part<Isa>(output + column, Isa::multiply(factor, Isa::load(output_ + column)),
                       smaller(kLanes, arguments_.value_dim - column));
    }
    const std::int64_t row = (at_.batch * arguments_.heads + at_.head) * arguments_.query_length + at_.row;
    static_cast<float*>(arguments_.log_sum_exp)[row] = has_edges_ ? maximum_ + logf(answer) : -kInfinite;
  }

  const AttentionArguments& arguments_;
  RowIndex at_{};
  std::int64_t key_head_ = 0;
  SeenPositions seen_;
  const std::int32_t* positions_ = nullptr;  // of the keys
  std::int64_t edges_ = 0;                   // collected and not yet added
  bool has_edges_ = false;
  float maximum_ = 0;  // always finite, so that a row without edges is zero and not NaN
  std::int64_t keys_[kEdges];
  alignas(64) float weights_[kEdges];  // log multiplicities
  alignas(64) float scores_[kEdges];
  alignas(64) float query_[kMaximumHeadDim];
  alignas(64) float relative_query_[kMaximumHeadDim];
  alignas(64) float output_[kMaximumHeadDim];
  alignas(64) float sums_[kLanes];
};

/// Whether single rows compute the call: a query a tile, and no dropout, which is drawn a panel at a time.
[[gnu::always_inline]] inline bool takes_single_rows(const AttentionArguments& arguments) noexcept {
  const bool is_single = arguments.layout.tile_query == 1 || arguments.query_length == 1;
  return is_single && arguments.dropout.probability == 0.0F;
}

template <class Isa, class Storage>
void forward_single_rows(const AttentionArguments& arguments, const ParallelFor& parallel) noexcept {
  const std::int64_t rows = arguments.query_length;
  const auto place_of = [rows, &arguments](std::int64_t item) {
    return RowIndex{item / rows / arguments.heads, item / rows % arguments.heads, item % rows};
  };
  const auto blocks_of = [&arguments](const RowIndex& at) { return arguments.layout.row(at.batch, at.head, at.row); };
  share_out<Isa>(
      parallel, arguments.batch * arguments.heads * rows,
      [&](std::int64_t item) { return static_cast<double>(blocks_of(place_of(item)).count()) + 0.5; },
      [&](std::int64_t begin, std::int64_t end) {
        SingleRow<Isa, Storage> row(arguments);
        for (std::int64_t item = begin; item < end; ++item) {
          row.run(place_of(item), blocks_of(place_of(item)));
        }
      });
}

}  // namespace weft::kernels
