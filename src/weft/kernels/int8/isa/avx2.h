// SPDX-License-Identifier: Apache-2.0
// Codes as 16-bit numbers in AVX2: vpmaddwd adds two products in 32 bits. (vpmaddubsw, which multiplies bytes, adds
// them in 16 and would cut sums off.) An output has two lanes,
// each for half of a group of inputs.
#pragma once

#include <cstdint>

#include "weft/kernels/isa/avx2.h"

namespace weft::kernels {

struct Avx2Codes : Avx2 {
  using Code = std::int16_t;
  static constexpr int kTileRows = 6;
  static constexpr int kVectors = 1;
  static constexpr int kFewRows = 2;
  static constexpr int kOutputs = 8;
  /// Four outputs in each half.
  struct Halves {
    __m256i low;
    __m256i high;
  };
  using Sums = Halves;
  using Weights = Halves;
  using Inputs = __m256i;

  [[gnu::always_inline]] static Sums begin(const std::int32_t* /*corrections*/) noexcept {
    return {_mm256_setzero_si256(), _mm256_setzero_si256()};
  }
  [[gnu::always_inline]] static Weights weights(const std::int8_t* from) noexcept {
    const auto* const halves = reinterpret_cast<const __m128i*>(from);
    return {_mm256_cvtepi8_epi16(_mm_loadu_si128(halves)), _mm256_cvtepi8_epi16(_mm_loadu_si128(halves + 1))};
  }
  [[gnu::always_inline]] static Inputs spread(const Code* group) noexcept {
    return _mm256_broadcastq_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(group)));
  }
  [[gnu::always_inline]] static void add_products(Sums& sums, Weights weights, Inputs inputs) noexcept {
    add_pairs(sums.low, weights.low, inputs);
    add_pairs(sums.high, weights.high, inputs);
  }
  /// Not as intrinsics: GCC 12 begins with all products and then keeps sums in memory.
  [[gnu::always_inline]] static void add_pairs(__m256i& sum, __m256i weights, Inputs inputs) noexcept {
    __m256i products;
    asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(sum), "=&x"(products) : "x"(weights), "x"(inputs));
  }
  [[gnu::always_inline]] static void store_sums(std::int32_t* to, const Sums& sums) noexcept {
    const __m256i both = _mm256_hadd_epi32(sums.low, sums.high);  // 0 1, 4 5, 2 3, 6 7
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute4x64_epi64(both, 0xD8));
  }

  [[gnu::always_inline]] static Vector widen(const std::int32_t* from) noexcept {
    return _mm256_cvtepi32_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  using Avx2::widen;
  [[gnu::always_inline]] static void store_codes(Code* to, Vector whole) noexcept {
    const __m256i wide = _mm256_cvtps_epi32(whole);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(wide, wide), 0x08);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(packed));
  }
};

}  // namespace weft::kernels
