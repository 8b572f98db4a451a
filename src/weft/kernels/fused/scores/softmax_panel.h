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

/// A vector of queries of one panel: scores[key * kPanel] for the keys of a range.
template <class Isa>
class ScoreColumn {
  using Vector = typename Isa::Vector;

 public:
  /// `query` is the first of the lanes, counted from the start of the block.
  ScoreColumn(const BlockMask<Isa>& mask, const KeyRange& range, std::int64_t query, float* scores) noexcept
      : mask_(mask), range_(range), query_(query), scores_(scores) {}

  /// Adds log multiplicities and sets to -infinity what is no edge.
  void apply_mask() const noexcept {
    const Vector no_edge = Isa::set(-std::numeric_limits<float>::infinity());
    for (std::int64_t key = range_.begin; key < range_.end; ++key) {
      Vector score = Isa::load(at(key));
      if (mask_.weights() != nullptr) {
        score = Isa::add(score, Isa::load(mask_.weights() + key * kTile + query_));
      }
      Isa::store(at(key), Isa::select(Isa::lanes_of(mask_.seen_by(key) >> query_), score, no_edge));
    }
  }

  Vector maximum(Vector before) const noexcept {
    Vector largest = before;
    for (std::int64_t key = range_.begin; key < range_.end; ++key) {
      largest = Isa::maximum(largest, Isa::load(at(key)));
    }
    return Isa::minimum(largest, Isa::set(std::numeric_limits<float>::max()));
  }

  /// Replaces scores with exp(score - shift) and returns their sum.
  Vector exponentials(Vector shift) const noexcept {
    Vector sum = Isa::zero();
    for (std::int64_t key = range_.begin; key < range_.end; ++key) {
      const Vector weight = exponential<Isa>(Isa::subtract(Isa::load(at(key)), shift));
      Isa::store(at(key), weight);
      sum = Isa::add(sum, weight);
    }
    return sum;
  }

 private:
  float* at(std::int64_t key) const noexcept { return scores_ + key * kPanel; }

  const BlockMask<Isa>& mask_;
  const KeyRange range_;
  std::int64_t query_;
  float* scores_;
};

/// Takes the scores [key][kPanel] of a panel into the state and turns them into exp(score - maximum).
template <class Isa>
void update_softmax(SoftmaxRows<Isa>& rows, const BlockMask<Isa>& mask, const Panel& panel, float* scores) noexcept {
  for (std::int64_t vector = 0; vector < panel.vectors; ++vector) {
    const std::int64_t query = panel.query + vector * Isa::kLanes;
    const ScoreColumn<Isa> column(mask, panel.range, query, scores + vector * Isa::kLanes);
    if (panel.range.is_masked) {
      column.apply_mask();
    }
    const typename Isa::Vector before = Isa::load(rows.maximum + query);
    const typename Isa::Vector maximum = column.maximum(before);
    const typename Isa::Vector factor = exponential<Isa>(Isa::subtract(before, maximum));
    const typename Isa::Vector sum = column.exponentials(maximum);
    Isa::store(rows.sum + query, Isa::multiply_add(Isa::load(rows.sum + query), factor, sum));
    Isa::store(rows.maximum + query, maximum);
    Isa::store(rows.factor + query, factor);
  }
}

}  // namespace weft::kernels
