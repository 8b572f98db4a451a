// SPDX-License-Identifier: Apache-2.0
// Philox4x32 on kLanes counters at once, in the vectors of one instruction set. The counters of even and of odd lanes
// are apart, a word in the lower half of 64 bits: there a product of two words needs one instruction, and what it
// leaves in an upper half is never looked at.
#pragma once

#include <cstdint>

#include "weft/core/random.h"

namespace weft::kernels {

/// One counter a lane: word w of lane 2 i in even[w], of lane 2 i + 1 in odd[w].
template <class Isa>
struct LaneCounters {
  typename Isa::Wide even[4];
  typename Isa::Wide odd[4];
};

/// The words of a draw a lane.
template <class Isa>
struct LaneWords {
  typename Isa::Words value[4];
};

/// `kRounds` rounds under one key.
template <class Isa, int kRounds>
class LaneDraws {
 public:
  using Wide = typename Isa::Wide;

  explicit LaneDraws(std::uint64_t key) noexcept {
    std::uint32_t words[2] = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
    for (int round = 0; round < kRounds; ++round) {
      for (int word = 0; word < 2; ++word) {
        keys_[round][word] = words[word];
        words[word] += kPhiloxSteps[word];
      }
    }
  }

  [[gnu::always_inline]] LaneWords<Isa> operator()(LaneCounters<Isa> counters) const noexcept {
    const Wide factors[2] = {Isa::wide(kPhiloxFactors[0]), Isa::wide(kPhiloxFactors[1])};
#pragma GCC unroll 10
    for (int round = 0; round < kRounds; ++round) {
      const Wide keys[2] = {Isa::wide(keys_[round][0]), Isa::wide(keys_[round][1])};
      run_round(counters.even, factors, keys);
      run_round(counters.odd, factors, keys);
    }
    return {{Isa::join(counters.even[0], counters.odd[0]), Isa::join(counters.even[1], counters.odd[1]),
             Isa::join(counters.even[2], counters.odd[2]), Isa::join(counters.even[3], counters.odd[3])}};
  }

 private:
  [[gnu::always_inline]] static void run_round(Wide (&words)[4], const Wide (&factors)[2],
                                               const Wide (&keys)[2]) noexcept {
    const Wide product0 = Isa::multiply(words[0], factors[0]);
    const Wide product1 = Isa::multiply(words[2], factors[1]);
    words[0] = Isa::exclusive_or(Isa::upper(product1), words[1], keys[0]);
    words[1] = product1;
    words[2] = Isa::exclusive_or(Isa::upper(product0), words[3], keys[1]);
    words[3] = product0;
  }

  std::uint64_t keys_[kRounds][2];
};

/// Numbers first, first + 1, ... in one word of the counters.
template <class Isa>
[[gnu::always_inline]] inline void count_up(LaneCounters<Isa>& counters, int word, std::uint64_t first) noexcept {
  std::uint64_t numbers[2][Isa::kLanes / 2];
  for (int lane = 0; lane < Isa::kLanes; ++lane) {
    numbers[lane % 2][lane / 2] = first + static_cast<std::uint64_t>(lane);
  }
  counters.even[word] = Isa::load_wide(numbers[0]);
  counters.odd[word] = Isa::load_wide(numbers[1]);
}

/// One number in a word of all counters.
template <class Isa>
[[gnu::always_inline]] inline void spread(LaneCounters<Isa>& counters, int word, std::uint64_t number) noexcept {
  counters.even[word] = Isa::wide(number);
  counters.odd[word] = counters.even[word];
}

}  // namespace weft::kernels
