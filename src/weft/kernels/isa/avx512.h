// SPDX-License-Identifier: Apache-2.0
// AVX-512 (F, BW, VL, DQ) as the fused kernel sees it: sixteen float32 lanes. Included by files compiled for it only;
// everything is always_inline, so that no copy made for one instruction set is linked into another.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "weft/kernels/isa/units.h"

namespace weft::kernels {

struct Avx512 {
  static constexpr int kLanes = 16;
  /// Rows of the product's register block: 8 x 2 accumulators, 2 right operands, broadcasts from memory.
  static constexpr int kProductRows = 8;
  /// What storage of type Memory is multiplied as.
  template <typename Memory>
  using Units = FloatUnits<Avx512>;
  using Vector = __m512;
  using Lanes = __mmask16;
  using Words = __m512i;  ///< kLanes numbers of 32 bits
  using Wide = __m512i;   ///< kLanes / 2 numbers of 64 bits

  [[gnu::always_inline]] static Vector zero() noexcept { return _mm512_setzero_ps(); }
  [[gnu::always_inline]] static Vector set(float value) noexcept { return _mm512_set1_ps(value); }
  [[gnu::always_inline]] static Vector load(const float* from) noexcept { return _mm512_loadu_ps(from); }
  [[gnu::always_inline]] static void store(float* to, Vector value) noexcept { _mm512_storeu_ps(to, value); }
  [[gnu::always_inline]] static Vector add(Vector a, Vector b) noexcept { return _mm512_add_ps(a, b); }
  [[gnu::always_inline]] static Vector subtract(Vector a, Vector b) noexcept { return _mm512_sub_ps(a, b); }
  [[gnu::always_inline]] static Vector multiply(Vector a, Vector b) noexcept { return _mm512_mul_ps(a, b); }
  /// a * b + c, rounded once.
  [[gnu::always_inline]] static Vector multiply_add(Vector a, Vector b, Vector c) noexcept {
    return _mm512_fmadd_ps(a, b, c);
  }
  /// a * b - c, rounded once.
  [[gnu::always_inline]] static Vector multiply_subtract(Vector a, Vector b, Vector c) noexcept {
    return _mm512_fmsub_ps(a, b, c);
  }
  /// `value` in the lanes where a > limit, `other` elsewhere and where a is NaN.
  [[gnu::always_inline]] static Vector where_above(Vector a, Vector limit, Vector value, Vector other) noexcept {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, limit, _CMP_GT_OQ), other, value);
  }
  /// The second operand where either is NaN.
  [[gnu::always_inline]] static Vector maximum(Vector a, Vector b) noexcept { return _mm512_max_ps(a, b); }
  [[gnu::always_inline]] static Vector minimum(Vector a, Vector b) noexcept { return _mm512_min_ps(a, b); }
  [[gnu::always_inline]] static Vector nearest(Vector a) noexcept {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  /// value * 2^(the largest integer that is not above power).
  [[gnu::always_inline]] static Vector scale_by_power(Vector value, Vector power) noexcept {
    return _mm512_scalef_ps(value, power);
  }
  /// a minus the largest integer that is not above it; 0 for infinities.
  [[gnu::always_inline]] static Vector above_floor(Vector a) noexcept {
    return _mm512_reduce_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  }
  /// scale_by_power() takes any power.
  [[gnu::always_inline]] static Vector held_exponent(Vector x) noexcept { return x; }
  /// 0 in the lanes where x < bound, `value` in the others, those with NaN in x too.
  [[gnu::always_inline]] static Vector zero_below(Vector x, Vector bound, Vector value) noexcept {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, bound, _CMP_NLT_UQ), value);
  }

  /// Lane i from bit i.
  [[gnu::always_inline]] static Lanes lanes_of(std::uint64_t bits) noexcept { return static_cast<Lanes>(bits); }
  /// `value` in the chosen lanes, `other` elsewhere.
  [[gnu::always_inline]] static Vector select(Lanes chosen, Vector value, Vector other) noexcept {
    return _mm512_mask_blend_ps(chosen, other, value);
  }
  /// Lanes whose drawn 32 bits are not below the threshold, which is at most 2^32 - 1.
  [[gnu::always_inline]] static Lanes at_least(Words drawn, std::uint32_t threshold) noexcept {
    return _mm512_cmpge_epu32_mask(drawn, _mm512_set1_epi32(static_cast<int>(threshold)));
  }
  /// Lanes whose signed numbers are above the limit.
  [[gnu::always_inline]] static Lanes above(Words words, std::int32_t limit) noexcept {
    return _mm512_cmpgt_epi32_mask(words, _mm512_set1_epi32(limit));
  }
  /// The lower halves of the words moved up, zeros below.
  [[gnu::always_inline]] static Words lower_halves(Words words) noexcept { return _mm512_slli_epi32(words, 16); }
  /// Bit i from lane i.
  [[gnu::always_inline]] static std::uint64_t bits_of(Lanes lanes) noexcept { return lanes; }

  [[gnu::always_inline]] static Wide wide(std::uint64_t number) noexcept {
    return _mm512_set1_epi64(static_cast<long long>(number));
  }
  [[gnu::always_inline]] static Wide load_wide(const std::uint64_t* from) noexcept { return _mm512_loadu_si512(from); }
  /// Of the lower halves of both.
  [[gnu::always_inline]] static Wide multiply(Wide a, Wide b) noexcept { return _mm512_mul_epu32(a, b); }
  [[gnu::always_inline]] static Wide upper(Wide a) noexcept { return _mm512_srli_epi64(a, 32); }
  [[gnu::always_inline]] static Wide exclusive_or(Wide a, Wide b, Wide c) noexcept {
    return _mm512_ternarylogic_epi64(a, b, c, 0x96);
  }
  /// Lane 2 i from the lower half of number i of `even`, lane 2 i + 1 from that of `odd`.
  [[gnu::always_inline]] static Words join(Wide even, Wide odd) noexcept {
    return _mm512_mask_shuffle_epi32(even, 0xAAAA, odd, _MM_PERM_CCAA);
  }

  /// Bit i: low[i] <= number <= high[i].
  [[gnu::always_inline]] static std::uint64_t bits_between(const std::int32_t* low, const std::int32_t* high,
                                                           std::int32_t number) noexcept {
    const __m512i spread = _mm512_set1_epi32(number);
    const __mmask16 from = _mm512_cmple_epi32_mask(_mm512_loadu_si512(low), spread);
    return _mm512_mask_cmple_epi32_mask(from, spread, _mm512_loadu_si512(high));
  }

  [[gnu::always_inline]] static Vector widen(const float* from) noexcept { return load(from); }
  [[gnu::always_inline]] static Vector widen(const std::uint16_t* bfloat16) noexcept {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bfloat16));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  [[gnu::always_inline]] static Vector widen(const _Float16* from) noexcept {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  [[gnu::always_inline]] static void narrow(float* to, Vector value) noexcept { store(to, value); }
  /// Rounds to the nearest, ties to even; NaN stays NaN.
  [[gnu::always_inline]] static void narrow(std::uint16_t* bfloat16, Vector value) noexcept {
    const __m512i bits = _mm512_castps_si512(value);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    const __m512i chosen = _mm512_mask_blend_epi32(is_nan, rounded, _mm512_set1_epi32(0x7FC00000));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(bfloat16), _mm512_cvtepi32_epi16(_mm512_srli_epi32(chosen, 16)));
  }
  [[gnu::always_inline]] static void narrow(_Float16* to, Vector value) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }

  /// rows[i][j] <-> rows[j][i], in four rounds of shuffles.
  [[gnu::always_inline]] static void transpose(Vector (&rows)[kLanes]) noexcept {
    Vector pairs[kLanes];
#pragma GCC unroll 8
    for (int row = 0; row < kLanes; row += 2) {
      pairs[row] = _mm512_unpacklo_ps(rows[row], rows[row + 1]);
      pairs[row + 1] = _mm512_unpackhi_ps(rows[row], rows[row + 1]);
    }
#pragma GCC unroll 4
    for (int row = 0; row < kLanes; row += 4) {
      rows[row] = _mm512_shuffle_ps(pairs[row], pairs[row + 2], 0x44);
      rows[row + 1] = _mm512_shuffle_ps(pairs[row], pairs[row + 2], 0xEE);
      rows[row + 2] = _mm512_shuffle_ps(pairs[row + 1], pairs[row + 3], 0x44);
      rows[row + 3] = _mm512_shuffle_ps(pairs[row + 1], pairs[row + 3], 0xEE);
    }
#pragma GCC unroll 4
    for (int row = 0; row < 4; ++row) {
      pairs[row] = _mm512_shuffle_f32x4(rows[row], rows[row + 4], 0x88);
      pairs[row + 4] = _mm512_shuffle_f32x4(rows[row], rows[row + 4], 0xDD);
      pairs[row + 8] = _mm512_shuffle_f32x4(rows[row + 8], rows[row + 12], 0x88);
      pairs[row + 12] = _mm512_shuffle_f32x4(rows[row + 8], rows[row + 12], 0xDD);
    }
#pragma GCC unroll 8
    for (int row = 0; row < 8; ++row) {
      rows[row] = _mm512_shuffle_f32x4(pairs[row], pairs[row + 8], 0x88);
      rows[row + 8] = _mm512_shuffle_f32x4(pairs[row], pairs[row + 8], 0xDD);
    }
  }
};

}  // namespace weft::kernels
