// SPDX-License-Identifier: Apache-2.0
// Codes without instructions of their own: loops that the compiler turns into what the processor has.
#pragma once

#include <cstdint>

#include "weft/kernels/isa/generic.h"

namespace weft::kernels {

struct GenericCodes : Generic {
  using Code = std::int8_t;
  /// A tile of sums has so many rows by so many vectors; with a gate two vectors, and fewer rows where one was enough.
  static constexpr int kTileRows = 2;
  static constexpr int kVectors = 2;
  /// Rows of the tiles that take what is left.
  static constexpr int kFewRows = 1;
  /// Outputs of a vector of sums.
  static constexpr int kOutputs = 16;
  struct Sums {
    std::int32_t of[kOutputs];
  };
  using Weights = const std::int8_t*;
  using Inputs = const Code*;

  [[gnu::always_inline]] static Sums begin(const std::int32_t* /*corrections*/) noexcept { return {}; }
  [[gnu::always_inline]] static Weights weights(const std::int8_t* from) noexcept { return from; }
  [[gnu::always_inline]] static Inputs spread(const Code* group) noexcept { return group; }
  [[gnu::always_inline]] static void add_products(Sums& sums, Weights weights, Inputs inputs) noexcept {
    for (int output = 0; output < kOutputs; ++output) {
      const std::int8_t* const its = weights + output * 4;
      sums.of[output] += its[0] * inputs[0] + its[1] * inputs[1] + its[2] * inputs[2] + its[3] * inputs[3];
    }
  }
  [[gnu::always_inline]] static void store_sums(std::int32_t* to, const Sums& sums) noexcept {
    __builtin_memcpy(to, sums.of, sizeof sums.of);
  }

  [[gnu::always_inline]] static Vector widen(const std::int32_t* from) noexcept {
    Lanes whole;
    __builtin_memcpy(&whole, from, sizeof whole);
    return __builtin_convertvector(whole, Vector);
  }
  using Generic::widen;
  /// Whole numbers in [-127, 127].
  [[gnu::always_inline]] static void store_codes(Code* to, Vector whole) noexcept {
    for (int lane = 0; lane < kLanes; ++lane) {
      to[lane] = static_cast<Code>(whole[lane]);
    }
  }
};

}  // namespace weft::kernels
