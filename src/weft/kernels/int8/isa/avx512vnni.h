// SPDX-License-Identifier: Apache-2.0
// AVX-512 VNNI: vpdpbusd as in isa/avxvnni.h, sixteen outputs a vector.
#pragma once

#include <cstdint>

#include "weft/kernels/isa/avx512.h"

namespace weft::kernels {

struct Avx512VnniCodes : Avx512 {
  using Code = std::uint8_t;
  static constexpr int kTileRows = 12;
  static constexpr int kVectors = 2;
  static constexpr int kFewRows = 4;
  static constexpr int kOutputs = 16;
  using Sums = __m512i;
  using Weights = __m512i;
  using Inputs = __m512i;

  [[gnu::always_inline]] static Sums begin(const std::int32_t* corrections) noexcept {
    return _mm512_loadu_si512(corrections);
  }
  [[gnu::always_inline]] static Weights weights(const std::int8_t* from) noexcept { return _mm512_loadu_si512(from); }
  [[gnu::always_inline]] static Inputs spread(const Code* group) noexcept {
    std::int32_t four;
    __builtin_memcpy(&four, group, sizeof four);
    return _mm512_set1_epi32(four);
  }
  [[gnu::always_inline]] static void add_products(Sums& sums, Weights weights, Inputs inputs) noexcept {
    // Not the intrinsic: GCC 12 copies its sums before and after each one, which halves the rate (188 and 374 GOP/s of
    // a Zen 4 core's 472).
    asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(inputs), "v"(weights));
  }
  [[gnu::always_inline]] static void store_sums(std::int32_t* to, const Sums& sums) noexcept {
    _mm512_storeu_si512(to, sums);
  }

  [[gnu::always_inline]] static Vector widen(const std::int32_t* from) noexcept {
    return _mm512_cvtepi32_ps(_mm512_loadu_si512(from));
  }
  using Avx512::widen;
  [[gnu::always_inline]] static void store_codes(Code* to, Vector whole) noexcept {
    const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(whole));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_xor_si128(bytes, _mm_set1_epi8(-128)));
  }
};

}  // namespace weft::kernels
