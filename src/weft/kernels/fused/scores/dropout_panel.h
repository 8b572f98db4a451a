// SPDX-License-Identifier: Apache-2.0
// Dropout of a panel: the draws of kernels/dropout.h for a vector of queries at once. They are kept as bits for a
// moment, because the backward pass of a panel needs them twice.
#pragma once

#include <cstdint>

#include "weft/kernels/dropout.h"
#include "weft/kernels/fused/lane_draws.h"
#include "weft/kernels/fused/tile.h"

namespace weft::kernels {

/// Which entries of a panel stay: bit i of bits[key][vector] is query vector * kLanes + i.
template <class Isa>
struct PanelBits {
  std::uint16_t bits[kTile][kPanel / Isa::kLanes];
};

/// Which head of which batch row is drawn for.
template <class Isa>
class PanelDropout {
 public:
  PanelDropout(const Dropout& dropout, std::int64_t batch, std::int64_t head) noexcept
      : key_(dropout_key(dropout)),
        batch_(static_cast<std::uint64_t>(batch)),
        head_(static_cast<std::uint64_t>(head)),
        probability_(dropout.probability),
        draws_(dropout.seed.draws),
        kept_(static_cast<float>(1.0 / (1.0 - static_cast<double>(dropout.probability)))) {}

  bool is_on() const noexcept { return probability_ > 0.0F; }

  /// The draws of a span. What lies outside of it may be drawn too.
  void draw(const PanelSpan& span, PanelBits<Isa>& kept) const noexcept {
    if (draws_ == DropoutDraws::kFirst) {
      draw_words(span, kept);
    } else {
      draw_halves(span, kept);
    }
  }

  /// numbers[key][kPanel] *= 0 or 1 / (1 - p), for the keys of the span.
  void apply(float* numbers, const PanelSpan& span, const PanelBits<Isa>& kept) const noexcept {
    const auto scale = Isa::set(kept_);
    for (std::int64_t key = span.begin; key < span.end; ++key) {
      for (std::int64_t vector = 0; vector < span.vectors; ++vector) {
        float* to = numbers + key * kPanel + vector * Isa::kLanes;
        const auto stays = Isa::lanes_of(kept.bits[key][vector]);
        Isa::store(to, Isa::multiply(Isa::load(to), Isa::select(stays, scale, Isa::zero())));
      }
    }
  }

 private:
  using Counters = LaneCounters<Isa>;

  // Words 1 to 3 of the counters: low = query << 32 | draw, high = batch << 32 | head.
  Counters counters_of(std::int64_t first_query) const noexcept {
    Counters counters;
    count_up<Isa>(counters, 1, static_cast<std::uint64_t>(first_query));
    spread<Isa>(counters, 2, head_);
    spread<Isa>(counters, 3, batch_);
    return counters;
  }

  void draw_halves(const PanelSpan& span, PanelBits<Isa>& kept) const noexcept {
    const LaneDraws<Isa, KeyDraws::kRounds> draws(key_);
    // A number in the upper half of a word is at least the threshold where the word is above this, whatever is below.
    const std::int32_t limit = half_threshold(probability_) * 65536 - 1;
    const std::int64_t first_draw = KeyDraws::first_draw(span.first_key);
    for (std::int64_t vector = 0; vector < span.vectors; ++vector) {
      Counters counters = counters_of(span.first_query + vector * Isa::kLanes);
      for (std::int64_t draw = KeyDraws::first_draw(span.begin); draw < KeyDraws::end_draw(span.end); ++draw) {
        spread<Isa>(counters, 0, static_cast<std::uint64_t>(first_draw + draw));
        const LaneWords<Isa> words = draws(counters);
        const std::int64_t first = KeyDraws::first_key(draw);
        for (int word = 0; word < 4; ++word) {
          const auto value = words.value[word];
          store(kept.bits[first + 8 * word][vector], Isa::above(Isa::lower_halves(value), limit));
          store(kept.bits[first + 8 * word + 1][vector], Isa::above(value, limit));
        }
      }
    }
  }

  void draw_words(const PanelSpan& span, PanelBits<Isa>& kept) const noexcept {
    const LaneDraws<Isa, 10> draws(key_);
    const auto threshold = static_cast<std::uint32_t>(static_cast<double>(probability_) * 4294967296.0);
    for (std::int64_t vector = 0; vector < span.vectors; ++vector) {
      Counters counters = counters_of(span.first_query + vector * Isa::kLanes);
      for (std::int64_t four = span.begin / 4 * 4; four < span.end; four += 4) {
        spread<Isa>(counters, 0, static_cast<std::uint64_t>((span.first_key + four) / 4));
        const LaneWords<Isa> words = draws(counters);
        for (int word = 0; word < 4; ++word) {
          store(kept.bits[four + word][vector], Isa::at_least(words.value[word], threshold));
        }
      }
    }
  }

  static void store(std::uint16_t& to, typename Isa::Lanes stays) noexcept {
    to = static_cast<std::uint16_t>(Isa::bits_of(stays));
  }

  std::uint64_t key_;
  std::uint64_t batch_;
  std::uint64_t head_;
  float probability_;
  DropoutDraws draws_;
  float kept_;
};

}  // namespace weft::kernels
