// SPDX-License-Identifier: Apache-2.0
// Dropout of a panel: the draws of kernels/dropout.h for a vector of queries at once. The loops over lanes are written
// so that the compiler makes vectors of them.
#pragma once

#include <cstdint>

#include "weft/kernels/dropout.h"
#include "weft/kernels/fused/tile.h"

namespace weft::kernels {

/// Philox4x32-10 on kLanes counters under one key.
template <class Isa>
struct LaneDraws {
  static constexpr int kLanes = Isa::kLanes;
  alignas(64) std::uint32_t value[4][kLanes];

  void run_rounds(std::uint64_t key) noexcept {
    std::uint32_t key0 = static_cast<std::uint32_t>(key);
    std::uint32_t key1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const std::uint64_t product0 = std::uint64_t{0xD2511F53} * value[0][lane];
        const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * value[2][lane];
        const std::uint32_t next0 = static_cast<std::uint32_t>(product1 >> 32) ^ value[1][lane] ^ key0;
        const std::uint32_t next2 = static_cast<std::uint32_t>(product0 >> 32) ^ value[3][lane] ^ key1;
        value[0][lane] = next0;
        value[1][lane] = static_cast<std::uint32_t>(product1);
        value[2][lane] = next2;
        value[3][lane] = static_cast<std::uint32_t>(product0);
      }
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
  }
};

/// Which head of which batch row is drawn for.
template <class Isa>
class PanelDropout {
 public:
  PanelDropout(const Dropout& dropout, std::int64_t batch, std::int64_t head) noexcept
      : key_(dropout.seed + dropout.offset * DropoutRow::kOffsetStep),
        batch_(static_cast<std::uint32_t>(batch)),
        head_(static_cast<std::uint32_t>(head)),
        threshold_(static_cast<std::uint32_t>(static_cast<double>(dropout.probability) * 4294967296.0)),
        kept_(static_cast<float>(1.0 / (1.0 - static_cast<double>(dropout.probability)))) {}

  bool is_on() const noexcept { return threshold_ != 0; }

  /// numbers[key][kPanel] *= 0 or 1 / (1 - p).
  void apply(float* numbers, const PanelSpan& span) const noexcept {
    for (std::int64_t vector = 0; vector < span.vectors; ++vector) {
      for (std::int64_t four = span.begin / 4 * 4; four < span.end; four += 4) {
        const LaneDraws<Isa> draws = draw(span.first_query + vector * Isa::kLanes, span.first_key + four);
        for (std::int64_t key = four < span.begin ? span.begin : four; key < smaller(four + 4, span.end); ++key) {
          float* to = numbers + key * kPanel + vector * Isa::kLanes;
          const auto kept = Isa::at_least(draws.value[key - four], threshold_);
          Isa::store(to, Isa::multiply(Isa::load(to), Isa::select(kept, Isa::set(kept_), Isa::zero())));
        }
      }
    }
  }

 private:
  // The counters of kernels/dropout.h: low = query << 32 | key / 4, high = batch << 32 | head.
  LaneDraws<Isa> draw(std::int64_t first_query, std::int64_t key) const noexcept {
    LaneDraws<Isa> draws;
    for (int lane = 0; lane < Isa::kLanes; ++lane) {
      draws.value[0][lane] = static_cast<std::uint32_t>(key / 4);
      draws.value[1][lane] = static_cast<std::uint32_t>(first_query + lane);
      draws.value[2][lane] = head_;
      draws.value[3][lane] = batch_;
    }
    draws.run_rounds(key_);
    return draws;
  }

  std::uint64_t key_;
  std::uint32_t batch_;
  std::uint32_t head_;
  std::uint32_t threshold_;
  float kept_;
};

}  // namespace weft::kernels
