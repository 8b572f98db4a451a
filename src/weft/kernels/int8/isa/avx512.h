// SPDX-License-Identifier: Apache-2.0
// Codes as 16-bit numbers in AVX-512 BW, as in int8/isa/avx2.h.
#pragma once

#include <cstdint>

#include "weft/kernels/isa/avx512.h"

namespace weft::kernels {

struct Avx512Codes : Avx512 {
  using Code = std::int16_t;
  static constexpr int kTileRows = 6;
  static constexpr int kVectors = 2;
  static constexpr int kFewRows = 2;
  static constexpr int kOutputs = 16;
  /// Eight outputs in each half.
  struct Halves {
    __m512i low;
    __m512i high;
  };
  using Sums = Halves;
  using Weights = Halves;
  using Inputs = __m512i;

  [[gnu::always_inline]] static Sums begin(const std::int32_t* /*corrections*/) noexcept {
    return {_mm512_setzero_si512(), _mm512_setzero_si512()};
  }
  [[gnu::always_inline]] static Weights weights(const std::int8_t* from) noexcept {
    const auto* const halves = reinterpret_cast<const __m256i*>(from);
    return {_mm512_cvtepi8_epi16(_mm256_loadu_si256(halves)), _mm512_cvtepi8_epi16(_mm256_loadu_si256(halves + 1))};
  }
  [[gnu::always_inline]] static Inputs spread(const Code* group) noexcept {
    std::int64_t four;
    __builtin_memcpy(&four, group, sizeof four);
    return _mm512_set1_epi64(four);
  }
  [[gnu::always_inline]] static void add_products(Sums& sums, Weights weights, Inputs inputs) noexcept {
    add_pairs(sums.low, weights.low, inputs);
    add_pairs(sums.high, weights.high, inputs);
  }
  /// Not as intrinsics, as in int8/isa/avx2.h.
  [[gnu::always_inline]] static void add_pairs(__m512i& sum, __m512i weights, Inputs inputs) noexcept {
    __m512i products;
    asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+v"(sum), "=&v"(products) : "v"(weights), "v"(inputs));
  }
  [[gnu::always_inline]] static void store_sums(std::int32_t* to, const Sums& sums) noexcept {
    store_half(to, sums.low);
    store_half(to + kOutputs / 2, sums.high);
  }
  [[gnu::always_inline]] static void store_half(std::int32_t* to, __m512i half) noexcept {
    const __m512i both = _mm512_add_epi32(half, _mm512_srli_epi64(half, 32));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi64_epi32(both));
  }

  [[gnu::always_inline]] static Vector widen(const std::int32_t* from) noexcept {
    return _mm512_cvtepi32_ps(_mm512_loadu_si512(from));
  }
  using Avx512::widen;
  [[gnu::always_inline]] static void store_codes(Code* to, Vector whole) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(whole)));
  }
};

}  // namespace weft::kernels
