// SPDX-License-Identifier: Apache-2.0
// Gradients of queries that hold or met NaN or infinity. A product would carry them, times zero, to every key of a
// block, so such rows are taken out of the products, and what they reach is made NaN along their edges alone.
#pragma once

#include <cstdint>
#include <limits>

#include "weft/kernels/fused/matrix.h"
#include "weft/kernels/fused/panels.h"
#include "weft/kernels/fused/query_sums.h"
#include "weft/kernels/fused/scores/block_mask.h"

namespace weft::kernels {

/// Bits of queries, counted from the start of their block.
struct SpoiledQueries {
  std::uint64_t lost = 0;       ///< no finite log-sum-exp: all that the row reaches is NaN
  std::uint64_t unbounded = 0;  ///< output gradient times output is not finite, and so are the gradients of its scores

  [[gnu::always_inline]] std::uint64_t any() const noexcept { return lost | unbounded; }
  [[gnu::always_inline]] bool touches(const Panel& panel) const noexcept {
    return ((any() >> panel.query) & low_bits(panel.queries)) != 0;
  }
};

/// Where the gradients of a block of keys are summed: [key][width], whole vectors.
struct KeySums {
  float* key;
  float* value;
  std::int64_t key_width;
  std::int64_t value_width;
};

template <class Isa, typename Memory>
class SpoiledPanel {
 public:
  SpoiledPanel(const Panel& panel, const SpoiledQueries& spoiled, const BlockMask<Isa>& mask) noexcept
      : panel_(panel), spoiled_(spoiled), inside_(low_bits(panel.queries) << panel.query), mask_(mask) {}

  /// Score gradients [key][kPanel] of the rows to zero: products pass over them.
  void silence(float* score_gradients) const noexcept {
    for (std::int64_t lane = 0; lane < panel_.vectors * Isa::kLanes; lane += Isa::kLanes) {
      const auto spoiled = Isa::lanes_of(spoiled_.any() >> (panel_.query + lane));
      for (std::int64_t key = panel_.range.begin; key < panel_.range.end; ++key) {
        float* at = score_gradients + key * kPanel + lane;
        Isa::store(at, Isa::select(spoiled, Isa::zero(), Isa::load(at)));
      }
    }
  }

  /// What the rows add to the sums of keys, from probabilities [key][kPanel]; `gradient` is that of the output, from
  /// the first query of the block on. The same formulas as the products', an edge at a time.
  void add_to_keys(const float* probabilities, const Rows<Memory>& gradient, const KeySums& sums) const noexcept {
    for (std::int64_t key = panel_.range.begin; key < panel_.range.end; ++key) {
      const std::uint64_t seen_by = mask_.seen_by(key) & inside_;
      float* of_value = sums.value + key * sums.value_width;
      if ((seen_by & spoiled_.any()) != 0) {
        fill(sums.key + key * sums.key_width, sums.key_width);
      }
      if ((seen_by & spoiled_.lost) != 0) {
        fill(of_value, sums.value_width);
      }
      for (std::uint64_t rest = seen_by & spoiled_.unbounded; rest != 0; rest &= rest - 1) {
        const std::int64_t query = __builtin_ctzll(rest);
        add(of_value, probabilities[key * kPanel + query - panel_.query], gradient.row(query), gradient.columns);
      }
    }
  }

  /// Sums of queries, from the first one of the panel on.
  void add_to_queries(const QuerySumRow& sums, std::int64_t width) const noexcept {
    std::uint64_t reaching = 0;
    for (std::int64_t key = panel_.range.begin; key < panel_.range.end; ++key) {
      reaching |= mask_.seen_by(key);
    }
    for (std::uint64_t rest = reaching & inside_ & spoiled_.any(); rest != 0; rest &= rest - 1) {
      fill(sums.data + (__builtin_ctzll(rest) - panel_.query) * sums.stride, width);
    }
  }

 private:
  static void fill(float* row, std::int64_t width) noexcept {
    for (std::int64_t column = 0; column < width; column += Isa::kLanes) {
      Isa::store(row + column, Isa::set(std::numeric_limits<float>::quiet_NaN()));
    }
  }

  static void add(float* sum, float factor, const Memory* row, std::int64_t columns) noexcept {
    for (std::int64_t column = 0; column < columns; column += Isa::kLanes) {
      const auto numbers = widen_part<Isa>(row + column, columns - column);
      Isa::store(sum + column, Isa::multiply_add(Isa::set(factor), numbers, Isa::load(sum + column)));
    }
  }

  const Panel& panel_;
  const SpoiledQueries& spoiled_;
  std::uint64_t inside_;
  const BlockMask<Isa>& mask_;
};

}  // namespace weft::kernels
