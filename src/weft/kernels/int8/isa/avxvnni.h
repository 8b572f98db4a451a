// SPDX-License-Identifier: Apache-2.0
// AVX-VNNI: vpdpbusd adds four products of an unsigned and a signed byte to 32 bits. A code of x is stored with 128
// added to it, and sums begin at what that adds too much.
#pragma once

#include <cstdint>

#include "weft/kernels/isa/avx2.h"

namespace weft::kernels {

struct AvxVnniCodes : Avx2 {
  using Code = std::uint8_t;
  static constexpr int kTileRows = 6;
  static constexpr int kVectors = 2;
  static constexpr int kFewRows = 2;
  static constexpr int kOutputs = 8;
  using Sums = __m256i;
  using Weights = __m256i;
  using Inputs = __m256i;

  [[gnu::always_inline]] static Sums begin(const std::int32_t* corrections) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(corrections));
  }
  [[gnu::always_inline]] static Weights weights(const std::int8_t* from) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  [[gnu::always_inline]] static Inputs spread(const Code* group) noexcept {
    std::int32_t four;
    __builtin_memcpy(&four, group, sizeof four);
    return _mm256_set1_epi32(four);
  }
  [[gnu::always_inline]] static void add_products(Sums& sums, Weights weights, Inputs inputs) noexcept {
    // Not the intrinsic, as in isa/avx512vnni.h.
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(inputs), "x"(weights));
  }
  [[gnu::always_inline]] static void store_sums(std::int32_t* to, const Sums& sums) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), sums);
  }

  [[gnu::always_inline]] static Vector widen(const std::int32_t* from) noexcept {
    return _mm256_cvtepi32_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  using Avx2::widen;
  [[gnu::always_inline]] static void store_codes(Code* to, Vector whole) noexcept {
    const __m256i wide = _mm256_cvtps_epi32(whole);
    const __m256i shorts = _mm256_permute4x64_epi64(_mm256_packs_epi32(wide, wide), 0x08);
    const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(shorts), _mm256_castsi256_si128(shorts));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_xor_si128(bytes, _mm_set1_epi8(-128)));
  }
};

}  // namespace weft::kernels
