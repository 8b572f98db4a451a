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

  /// Whether the last update multiplies some sum of `vectors` vectors by something else than 1.
  bool is_rescaled(std::int64_t query, std::int64_t vectors) const noexcept {
    bool is_one = true;
    for (std::int64_t lane = query; lane < query + vectors * Isa::kLanes; ++lane) {
      is_one = is_one && factor[lane] == 1.0F;
    }
    return !is_one;
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

  Vector maximum(Vector before) const noexcept {
    Vector largest = before;
    for (std::int64_t key = begin_; key < end_; ++key) {
      largest = Isa::maximum(largest, Isa::load(at(key)));
    }
    return Isa::minimum(largest, Isa::set(std::numeric_limits<float>::max()));
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

  /// Writes exp(score - shift) as pairs of keys [pair][kPanel] for a product, zeros up to its whole steps, and returns
  /// their sum: rounded while they are in registers.
  template <class Units>
  Vector paired_exponentials(Vector shift, typename Units::Unit* pairs) const noexcept {
    Vector sum = Isa::zero();
    std::int64_t key = begin_;
    for (; key + 2 <= end_; key += 2, pairs += kPanel) {
      const Vector even = exponential<Isa>(Isa::subtract(Isa::load(at(key)), shift));
      const Vector odd = exponential<Isa>(Isa::subtract(Isa::load(at(key + 1)), shift));
      Units::store_pair(pairs, even, odd);
      sum = Isa::add(sum, Isa::add(even, odd));
    }
    if (key < end_) {
      const Vector even = exponential<Isa>(Isa::subtract(Isa::load(at(key)), shift));
      Units::store_pair(pairs, even, Isa::zero());
      sum = Isa::add(sum, even);
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

/// Takes the scores [key][kPanel] of a panel into the state. `exponentials(column, maximum, vector)` makes exp(score -
/// maximum) of a vector of queries and returns the sum.
template <class Isa, typename Exponentials>
[[gnu::always_inline]] inline void update_softmax(SoftmaxRows<Isa>& rows, const Panel& panel, float* scores,
                                                  const Exponentials& exponentials) noexcept {
  for (std::int64_t vector = 0; vector < panel.vectors; ++vector) {
    const std::int64_t query = panel.query + vector * Isa::kLanes;
    const ScoreColumn<Isa> column(panel.range.begin, panel.range.end, scores + vector * Isa::kLanes);
    const typename Isa::Vector before = Isa::load(rows.maximum + query);
    const typename Isa::Vector maximum = column.maximum(before);
    const typename Isa::Vector factor = exponential<Isa>(Isa::subtract(before, maximum));
    const typename Isa::Vector sum = exponentials(column, maximum, vector);
    Isa::store(rows.sum + query, Isa::multiply_add(Isa::load(rows.sum + query), factor, sum));
    Isa::store(rows.maximum + query, maximum);
    Isa::store(rows.factor + query, factor);
  }
}

}  // namespace weft::kernels
