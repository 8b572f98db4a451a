// SPDX-License-Identifier: Apache-2.0
// The online softmax of a panel (Milakov and Gimelshein 2018; Dao et al. 2022). Scores are kept as [key][query]: a
// query is a lane, and neither maximum nor sum ever goes across lanes.
#pragma once

#include <cstdint>
#include <limits>

#include "weft/kernels/fused/exponential.h"
#include "weft/kernels/fused/panels.h"
#include "weft/kernels/fused/scores/block_mask.h"
#include "weft/kernels/fused/tile.h"

namespace weft::kernels {

/// Running maximum and sum of 64 queries. The maximum is always finite, so that a row without edges is zero, not NaN.
template <class Isa>
struct SoftmaxRows {
  alignas(64) float maximum[kTile];
  alignas(64) float sum[kTile];
  alignas(64) float factor[kTile];  ///< what the last update multiplied earlier sums by
  std::uint64_t has_edges;          ///< bit q: query q has an edge

  void reset() noexcept {
    has_edges = 0;
    for (int query = 0; query < kTile; ++query) {
      maximum[query] = std::numeric_limits<float>::lowest();
      sum[query] = 0;
    }
  }

  /// Whether the last update multiplies all sums of `vectors` vectors by `number`.
  bool all_factors_are(float number, std::int64_t query, std::int64_t vectors) const noexcept {
    bool is_same = true;
    for (std::int64_t lane = query; lane < query + vectors * Isa::kLanes; ++lane) {
      is_same = is_same && factor[lane] == number;
    }
    return is_same;
  }

  /// Joins the state of other keys of the same queries. Afterwards `factor` is what earlier sums are multiplied by, and
  /// `other.factor` what the sums of `other` are.
  void merge(SoftmaxRows& other) noexcept {
    has_edges |= other.has_edges;
    for (int query = 0; query < kTile; query += Isa::kLanes) {
      const auto mine = Isa::load(maximum + query);
      const auto others = Isa::load(other.maximum + query);
      const auto joined = Isa::maximum(mine, others);
      const auto my_factor = exponential<Isa>(Isa::subtract(mine, joined));
      const auto other_factor = exponential<Isa>(Isa::subtract(others, joined));
      Isa::store(maximum + query, joined);
      Isa::store(factor + query, my_factor);
      Isa::store(other.factor + query, other_factor);
      Isa::store(sum + query, Isa::multiply_add(Isa::load(sum + query), my_factor,
                                                Isa::multiply(Isa::load(other.sum + query), other_factor)));
    }
  }
};

/// A vector of queries of one panel: scores[key * kPanel] for keys [begin, end).
template <class Isa>
class ScoreColumn {
  using Vector = typename Isa::Vector;

 public:
  ScoreColumn(std::int64_t begin, std::int64_t end, float* scores) noexcept
      : begin_(begin), end_(end), scores_(scores) {}

  /// Adds log multiplicities and sets to -infinity what is no edge. `query` is the first of the lanes, counted from the
  /// start of the block.
  void apply_mask(const BlockMask<Isa>& mask, std::int64_t query) const noexcept {
    const Vector no_edge = Isa::set(-std::numeric_limits<float>::infinity());
    for (std::int64_t key = begin_; key < end_; ++key) {
      Vector score = Isa::load(at(key));
      if (mask.weights() != nullptr) {
        score = Isa::add(score, Isa::load(mask.weights() + key * kTile + query));
      }
      Isa::store(at(key), Isa::select(Isa::lanes_of(mask.seen_by(key) >> query), score, no_edge));
    }
  }

  /// Of these and `before`. In four parts: a processor makes several maxima while it waits for one.
  Vector maximum(Vector before) const noexcept {
    Vector parts[4] = {before, before, before, before};
    std::int64_t key = begin_;
    for (; key + 4 <= end_; key += 4) {
#pragma GCC unroll 4
      for (int part = 0; part < 4; ++part) {
        parts[part] = Isa::maximum(parts[part], Isa::load(at(key + part)));
      }
    }
    for (; key < end_; ++key) {
      parts[0] = Isa::maximum(parts[0], Isa::load(at(key)));
    }
    return Isa::maximum(Isa::maximum(parts[0], parts[1]), Isa::maximum(parts[2], parts[3]));
  }

  /// Replaces scores with exp(score - shift) and returns their sum.
  Vector exponentials(Vector shift) const noexcept {
    Vector sum = Isa::zero();
    for (std::int64_t key = begin_; key < end_; ++key) {
      const Vector weight = exponential<Isa>(Isa::subtract(Isa::load(at(key)), shift));
      Isa::store(at(key), weight);
      sum = Isa::add(sum, weight);
    }
    return sum;
  }

  /// Writes exp(scale * score - shift) as pairs of keys [pair][kPanel] for a product, zeros up to its whole steps:
  /// rounded while they are in registers. Returns the sum of what is written, so that weights sum to 1.
  template <class Units>
  Vector paired_exponentials(Vector scale, Vector shift, typename Units::Unit* pairs) const noexcept {
    const auto power = [&](std::int64_t of_key) {
      return short_exponential<Isa>(Isa::multiply_subtract(scale, Isa::load(at(of_key)), shift));
    };
    Vector sum = Isa::zero();
    std::int64_t key = begin_;
    for (; key + 2 <= end_; key += 2, pairs += kPanel) {
      const Vector even = power(key);
      sum = Units::add_both(sum, Units::store_pair(pairs, even, power(key + 1)));
    }
    if (key < end_) {
      sum = Units::add_both(sum, Units::store_pair(pairs, power(key), Isa::zero()));
      key += 2;
      pairs += kPanel;
    }
    for (const std::int64_t whole = begin_ + round_up(end_ - begin_, kStepNumbers<Units>); key < whole; key += 2) {
      Units::store_pair(pairs, Isa::zero(), Isa::zero());
      pairs += kPanel;
    }
    return sum;
  }

 private:
  float* at(std::int64_t key) const noexcept { return scores_ + key * kPanel; }

  std::int64_t begin_;
  std::int64_t end_;
  float* scores_;
};

/// Applies the mask of a block to the scores [key][kPanel] of a panel through which it runs.
template <class Isa>
void mask_scores(const BlockMask<Isa>& mask, const Panel& panel, float* scores) noexcept {
  for (std::int64_t vector = 0; vector < panel.vectors; ++vector) {
    ScoreColumn<Isa>(panel.range.begin, panel.range.end, scores + vector * Isa::kLanes)
        .apply_mask(mask, panel.query + vector * Isa::kLanes);
  }
}

/// Takes exponentials of a vector of queries into the state, whose shift grows from `before` to `shift`.
template <class Isa>
[[gnu::always_inline]] inline void take_in(SoftmaxRows<Isa>& rows, std::int64_t query, typename Isa::Vector before,
                                           typename Isa::Vector shift, typename Isa::Vector sum) noexcept {
  const typename Isa::Vector factor = exponential<Isa>(Isa::subtract(before, shift));
  Isa::store(rows.sum + query, Isa::multiply_add(Isa::load(rows.sum + query), factor, sum));
  Isa::store(rows.maximum + query, shift);
  Isa::store(rows.factor + query, factor);
}

/// Replaces the scores [key][kPanel] of a panel with exp(score - maximum), and takes them into the state.
template <class Isa>
void update_softmax(SoftmaxRows<Isa>& rows, const Panel& panel, float* scores) noexcept {
  const auto largest = Isa::set(std::numeric_limits<float>::max());
  for (std::int64_t vector = 0; vector < panel.vectors; ++vector) {
    const std::int64_t query = panel.query + vector * Isa::kLanes;
    const ScoreColumn<Isa> column(panel.range.begin, panel.range.end, scores + vector * Isa::kLanes);
    const auto before = Isa::load(rows.maximum + query);
    const auto maximum = Isa::minimum(column.maximum(before), largest);
    take_in<Isa>(rows, query, before, maximum, column.exponentials(maximum));
  }
}

/// Takes exp(scale * score - shift) of the scores [key][kPanel] of a panel into the state, and writes them as pairs of
/// keys [pair][kPanel]. `scale` is above 0. A shift that lags behind the maximum by kLag or less stays: numbers of
/// bfloat16 and float32 are as exact at e^kLag as at 1, and what was summed before need not be multiplied again (the
/// lazy rescaling of FlashAttention-4). That the largest weight is not 1, which bfloat16 holds exactly, does not
/// matter, since what is summed is rounded too.
template <class Isa, class Units>
void update_softmax_pairs(SoftmaxRows<Isa>& rows, const Panel& panel, float* scores, float scale,
                          typename Units::Unit* pairs) noexcept {
  constexpr float kLag = 6.0F;
  const auto largest = Isa::set(std::numeric_limits<float>::max());
  const auto lowest = Isa::set(std::numeric_limits<float>::lowest());
  for (std::int64_t vector = 0; vector < panel.vectors; ++vector) {
    const std::int64_t query = panel.query + vector * Isa::kLanes;
    const ScoreColumn<Isa> column(panel.range.begin, panel.range.end, scores + vector * Isa::kLanes);
    const auto before = Isa::load(rows.maximum + query);
    const auto maximum = Isa::minimum(Isa::multiply(Isa::set(scale), column.maximum(lowest)), largest);
    const auto shift = Isa::where_above(Isa::subtract(maximum, before), Isa::set(kLag), maximum, before);
    take_in<Isa>(rows, query, before, shift,
                 column.template paired_exponentials<Units>(Isa::set(scale), shift, pairs + vector * Isa::kLanes));
  }
}

}  // namespace weft::kernels
