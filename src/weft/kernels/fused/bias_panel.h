// SPDX-License-Identifier: Apache-2.0
// The position bias of a panel of scores: kernels/position_bias.h for a vector of queries at once.
#pragma once

#include <cstdint>

#include "weft/kernels/fused/tile.h"
#include "weft/kernels/position_bias.h"

namespace weft::kernels {

/// Of one head.
template <class Isa>
class PanelBias {
  using Vector = typename Isa::Vector;

 public:
  PanelBias(const PositionBias& bias, std::int64_t head) noexcept : bias_(bias), head_(head) {}

  bool is_on() const noexcept { return bias_.left != nullptr; }

  /// Adds to scores[key][kPanel].
  void apply(float* scores, const PanelSpan& span) const noexcept {
    for (std::int64_t vector = 0; vector < span.vectors; ++vector) {
      const std::int64_t query = span.first_query + vector * Isa::kLanes;
      for (std::int64_t key = span.begin; key < span.end; ++key) {
        float* to = scores + key * kPanel + vector * Isa::kLanes;
        if (touches_first(query, span.first_key + key)) {
          add_one_by_one(to, query, span.first_key + key);
        } else {
          add(to, static_cast<float>(query + bias_.query_offset - span.first_key - key));
        }
      }
    }
  }

 private:
  bool touches_first(std::int64_t query, std::int64_t key) const noexcept {
    const std::int64_t position = query + bias_.query_offset;
    return bias_.first != nullptr && (key == 0 || (position <= 0 && position + Isa::kLanes > 0));
  }

  void add_one_by_one(float* to, std::int64_t query, std::int64_t key) const noexcept {
    for (std::int64_t lane = 0; lane < Isa::kLanes; ++lane) {
      to[lane] += position_bias<float>(bias_, head_, query + lane, key);
    }
  }

  // `distance` is that of the first lane.
  void add(float* to, float distance) const noexcept {
    alignas(64) static constexpr float kLane[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const Vector distances = Isa::add(Isa::set(distance), Isa::load(kLane));
    const Vector before = Isa::maximum(distances, Isa::zero());
    const Vector behind = Isa::minimum(distances, Isa::zero());
    const Vector score = Isa::multiply_add(before, Isa::set(-bias_.left[head_]), Isa::load(to));
    Isa::store(to, Isa::multiply_add(behind, Isa::set(bias_.right[head_]), score));
  }

  const PositionBias& bias_;
  std::int64_t head_;
};

}  // namespace weft::kernels
