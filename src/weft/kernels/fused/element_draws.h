// SPDX-License-Identifier: Apache-2.0
// Dropout of elements in the vectors of one instruction set: a draw a lane, which as many elements share as a draw has
// numbers.
#pragma once

#include <cstdint>
#include <cstring>

#include "weft/kernels/dropout.h"
#include "weft/kernels/element_dropout.h"
#include "weft/kernels/fused/lane_draws.h"

namespace weft::kernels {

template <class Isa, typename Number>
class ElementPass {
 public:
  static constexpr int kLanes = Isa::kLanes;

  explicit ElementPass(const ElementDropout& call) noexcept : call_(call), scale_(Isa::set(call.scale)) {}

  void run() const noexcept {
    if (call_.seed.draws == DropoutDraws::kFirst) {
      run_words();
    } else {
      run_halves();
    }
  }

 private:
  using Lanes = typename Isa::Lanes;
  using Counters = LaneCounters<Isa>;

  void run_halves() const noexcept {
    if (call_.probability == 0.0F) {
      each_block<kElementBlock>([this](const Number* input, Number* output, std::int64_t /*first*/) {
        for (std::int64_t at = 0; at < kElementBlock; at += kLanes) {
          store(output + at, Isa::multiply(load(input + at), scale_));
        }
      });
      return;
    }
    const LaneDraws<Isa, KeyDraws::kRounds> draws(call_.seed.number);
    const std::int32_t limit = half_threshold(call_.probability) * 65536 - 1;
    const Counters lanes = counters_from(0);
    each_block<kElementBlock>([&](const Number* input, Number* output, std::int64_t first) {
      for (std::int64_t lane = 0; lane < ElementDraws::kDraws; lane += kLanes) {
        const std::uint64_t counter = ElementDraws::draw_of(call_.first + first + lane);
        const LaneWords<Isa> words = draws(counters_behind(lanes, counter));
        for (int word = 0; word < 4; ++word) {
          const std::int64_t at = 2 * ElementDraws::kDraws * word + lane;
          const auto value = words.value[word];
          keep(input + at, output + at, Isa::above(Isa::lower_halves(value), limit));
          keep(input + at + ElementDraws::kDraws, output + at + ElementDraws::kDraws, Isa::above(value, limit));
        }
      }
    });
  }

  void run_words() const noexcept {
    const LaneDraws<Isa, 10> draws(call_.seed.number);
    const std::uint32_t threshold = least_kept(call_.probability);
    each_block<4 * kLanes>([&](const Number* input, Number* output, std::int64_t first) {
      const LaneWords<Isa> words = draws(counters_from(static_cast<std::uint64_t>((call_.first + first) / 4)));
      std::uint16_t kept[4 * kLanes];  // bits of a word's lanes, then one an element
      for (int word = 0; word < 4; ++word) {
        const std::uint64_t bits = Isa::bits_of(Isa::at_least(words.value[word], threshold));
        for (int lane = 0; lane < kLanes; ++lane) {
          kept[4 * lane + word] = static_cast<std::uint16_t>((bits >> lane) & 1);
        }
      }
      for (int at = 0; at < 4 * kLanes; at += kLanes) {
        std::uint64_t bits = 0;
        for (int lane = 0; lane < kLanes; ++lane) {
          bits |= std::uint64_t{kept[at + lane]} << lane;
        }
        keep(input + at, output + at, Isa::lanes_of(bits));
      }
    });
  }

  // random_unit uses the upper 24 bits of a word: word / 256 * 2^-24 >= p where word >= ceil(p * 2^24) * 256.
  static std::uint32_t least_kept(float probability) noexcept {
    const double steps = static_cast<double>(probability) * 16777216.0;  // exact
    std::uint32_t whole = static_cast<std::uint32_t>(steps);
    whole += static_cast<double>(whole) < steps ? 1 : 0;
    return whole << 8;
  }

  static Counters counters_from(std::uint64_t first) noexcept {
    alignas(64) std::uint64_t low[2][kLanes / 2];
    alignas(64) std::uint64_t high[2][kLanes / 2];
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t counter = first + static_cast<std::uint64_t>(lane);
      low[lane % 2][lane / 2] = counter;  // what is above 32 bits counts for nothing
      high[lane % 2][lane / 2] = counter >> 32;
    }
    Counters counters;
    counters.even[0] = Isa::load_wide(low[0]);
    counters.odd[0] = Isa::load_wide(low[1]);
    counters.even[1] = Isa::load_wide(high[0]);
    counters.odd[1] = Isa::load_wide(high[1]);
    spread<Isa>(counters, 2, 0);
    spread<Isa>(counters, 3, 0);
    return counters;
  }

  // `lanes` are 0, 1, ...; `first` is a multiple of kLanes.
  [[gnu::always_inline]] static Counters counters_behind(Counters lanes, std::uint64_t first) noexcept {
    const auto low = Isa::wide(first);
    lanes.even[0] = Isa::exclusive_or(lanes.even[0], low, lanes.even[2]);
    lanes.odd[0] = Isa::exclusive_or(lanes.odd[0], low, lanes.odd[2]);
    spread<Isa>(lanes, 1, first >> 32);
    return lanes;
  }

  // work(input, output, first element) for blocks of so many elements; the last one may be a copy.
  template <std::int64_t kBlock, typename Work>
  void each_block(const Work& work) const noexcept {
    const Number* input = static_cast<const Number*>(call_.input);
    Number* output = static_cast<Number*>(call_.output);
    std::int64_t first = 0;
    for (; first + kBlock <= call_.count; first += kBlock) {
      work(input + first, output + first, first);
    }
    if (const std::int64_t rest = call_.count - first; rest > 0) {
      Number numbers[kBlock] = {};
      std::memcpy(numbers, input + first, static_cast<std::size_t>(rest) * sizeof(Number));
      work(numbers, numbers, first);
      std::memcpy(output + first, numbers, static_cast<std::size_t>(rest) * sizeof(Number));
    }
  }

  void keep(const Number* from, Number* to, Lanes kept) const noexcept {
    store(to, Isa::select(kept, Isa::multiply(load(from), scale_), Isa::zero()));
  }

  static typename Isa::Vector load(const float* from) noexcept { return Isa::load(from); }
  static typename Isa::Vector load(const std::uint16_t* from) noexcept { return Isa::widen(from); }
  static void store(float* to, typename Isa::Vector value) noexcept { Isa::store(to, value); }
  static void store(std::uint16_t* to, typename Isa::Vector value) noexcept { Isa::narrow(to, value); }

  ElementDropout call_;
  typename Isa::Vector scale_;
};

template <class Isa>
void run_element_dropout(const ElementDropout& call) noexcept {
  if (call.dtype == DType::kBFloat16) {
    ElementPass<Isa, std::uint16_t>(call).run();
  } else {
    ElementPass<Isa, float>(call).run();
  }
}

}  // namespace weft::kernels
