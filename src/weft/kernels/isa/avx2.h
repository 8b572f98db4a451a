// SPDX-License-Identifier: Apache-2.0
// AVX2 with FMA and F16C as the fused kernel sees it: eight float32 lanes. Included by files compiled for it only;
// everything is always_inline, so that no copy made for one instruction set is linked into another.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "weft/kernels/isa/units.h"

namespace weft::kernels {

struct Avx2 {
  static constexpr int kLanes = 8;
  /// Rows of the product's register block. Measured on Zen 3: 4 x 2 vectors reach 94 to 100 GFLOP/s a core, 6 x 2 94,
  /// 2 x 4 77.
  static constexpr int kProductRows = 4;
  /// What storage of type Memory is multiplied as.
  template <typename Memory>
  using Units = FloatUnits<Avx2>;
  using Vector = __m256;
  using Lanes = __m256;
  using Words = __m256i;  ///< kLanes numbers of 32 bits
  using Wide = __m256i;   ///< kLanes / 2 numbers of 64 bits

  [[gnu::always_inline]] static Vector zero() noexcept { return _mm256_setzero_ps(); }
  [[gnu::always_inline]] static Vector set(float value) noexcept { return _mm256_set1_ps(value); }
  [[gnu::always_inline]] static Vector load(const float* from) noexcept { return _mm256_loadu_ps(from); }
  [[gnu::always_inline]] static void store(float* to, Vector value) noexcept { _mm256_storeu_ps(to, value); }
  [[gnu::always_inline]] static Vector add(Vector a, Vector b) noexcept { return _mm256_add_ps(a, b); }
  [[gnu::always_inline]] static Vector subtract(Vector a, Vector b) noexcept { return _mm256_sub_ps(a, b); }
  [[gnu::always_inline]] static Vector multiply(Vector a, Vector b) noexcept { return _mm256_mul_ps(a, b); }
  /// a * b + c, rounded once.
  [[gnu::always_inline]] static Vector multiply_add(Vector a, Vector b, Vector c) noexcept {
    return _mm256_fmadd_ps(a, b, c);
  }
  /// The second operand where either is NaN.
  [[gnu::always_inline]] static Vector maximum(Vector a, Vector b) noexcept { return _mm256_max_ps(a, b); }
  [[gnu::always_inline]] static Vector minimum(Vector a, Vector b) noexcept { return _mm256_min_ps(a, b); }
  [[gnu::always_inline]] static Vector nearest(Vector a) noexcept {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  /// value * 2^power for values in (1/2, 2) and integral powers from -125 to 128, by way of the exponent's bits.
  [[gnu::always_inline]] static Vector scale_by_power(Vector value, Vector power) noexcept {
    const __m256i bits = _mm256_slli_epi32(_mm256_cvtps_epi32(power), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(value), bits));
  }
  /// Exponents whose powers scale_by_power() takes: above 88.72 the exponential is NaN.
  [[gnu::always_inline]] static Vector held_exponent(Vector x) noexcept { return minimum(_mm256_set1_ps(88.8F), x); }
  /// 0 in the lanes where x < bound, `value` in the others, those with NaN in x too.
  [[gnu::always_inline]] static Vector zero_below(Vector x, Vector bound, Vector value) noexcept {
    return _mm256_and_ps(_mm256_cmp_ps(x, bound, _CMP_NLT_UQ), value);
  }

  /// Lane i from bit i.
  [[gnu::always_inline]] static Lanes lanes_of(std::uint64_t bits) noexcept {
    const __m256i each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i spread = _mm256_set1_epi32(static_cast<int>(bits));
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(spread, each), each));
  }
  /// `value` in the chosen lanes, `other` elsewhere.
  [[gnu::always_inline]] static Vector select(Lanes chosen, Vector value, Vector other) noexcept {
    return _mm256_blendv_ps(other, value, chosen);
  }
  /// Lanes whose drawn 32 bits are not below the threshold, which is at most 2^32 - 1.
  [[gnu::always_inline]] static Lanes at_least(Words drawn, std::uint32_t threshold) noexcept {
    const __m256i bound = _mm256_set1_epi32(static_cast<int>(threshold));
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_max_epu32(drawn, bound), drawn));
  }
  /// Lanes whose signed numbers are above the limit.
  [[gnu::always_inline]] static Lanes above(Words words, std::int32_t limit) noexcept {
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(words, _mm256_set1_epi32(limit)));
  }
  /// The lower halves of the words moved up, zeros below.
  [[gnu::always_inline]] static Words lower_halves(Words words) noexcept { return _mm256_slli_epi32(words, 16); }
  /// Bit i from lane i.
  [[gnu::always_inline]] static std::uint64_t bits_of(Lanes lanes) noexcept {
    return static_cast<std::uint64_t>(_mm256_movemask_ps(lanes));
  }

  [[gnu::always_inline]] static Wide wide(std::uint64_t number) noexcept {
    return _mm256_set1_epi64x(static_cast<long long>(number));
  }
  [[gnu::always_inline]] static Wide load_wide(const std::uint64_t* from) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  /// Of the lower halves of both.
  [[gnu::always_inline]] static Wide multiply(Wide a, Wide b) noexcept { return _mm256_mul_epu32(a, b); }
  [[gnu::always_inline]] static Wide upper(Wide a) noexcept { return _mm256_srli_epi64(a, 32); }
  [[gnu::always_inline]] static Wide exclusive_or(Wide a, Wide b, Wide c) noexcept {
    return _mm256_xor_si256(_mm256_xor_si256(b, c), a);
  }
  /// Lane 2 i from the lower half of number i of `even`, lane 2 i + 1 from that of `odd`.
  [[gnu::always_inline]] static Words join(Wide even, Wide odd) noexcept {
    return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
  }

  /// Bit i: low[i] <= number <= high[i].
  [[gnu::always_inline]] static std::uint64_t bits_between(const std::int32_t* low, const std::int32_t* high,
                                                           std::int32_t number) noexcept {
    const __m256i spread = _mm256_set1_epi32(number);
    const __m256i below = _mm256_cmpgt_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(low)), spread);
    const __m256i above = _mm256_cmpgt_epi32(spread, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(high)));
    const int outside = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_or_si256(below, above)));
    return static_cast<std::uint64_t>(~outside & 0xFF);
  }

  [[gnu::always_inline]] static Vector widen(const float* from) noexcept { return load(from); }
  [[gnu::always_inline]] static Vector widen(const std::uint16_t* bfloat16) noexcept {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bfloat16));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  [[gnu::always_inline]] static Vector widen(const _Float16* from) noexcept {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  [[gnu::always_inline]] static void narrow(float* to, Vector value) noexcept { store(to, value); }
  /// Rounds to the nearest, ties to even; NaN stays NaN.
  [[gnu::always_inline]] static void narrow(std::uint16_t* bfloat16, Vector value) noexcept {
    const __m256i bits = _mm256_castps_si256(value);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
    const Vector chosen =
        _mm256_blendv_ps(_mm256_castsi256_ps(rounded), _mm256_castsi256_ps(_mm256_set1_epi32(0x7FC00000)),
                         _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    const __m256i high = _mm256_srli_epi32(_mm256_castps_si256(chosen), 16);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(high, high), 0x08);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bfloat16), _mm256_castsi256_si128(packed));
  }
  [[gnu::always_inline]] static void narrow(_Float16* to, Vector value) noexcept {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }

  /// rows[i][j] <-> rows[j][i], in three rounds of shuffles.
  [[gnu::always_inline]] static void transpose(Vector (&rows)[kLanes]) noexcept {
    Vector pairs[kLanes];
#pragma GCC unroll 4
    for (int row = 0; row < kLanes; row += 2) {
      pairs[row] = _mm256_unpacklo_ps(rows[row], rows[row + 1]);
      pairs[row + 1] = _mm256_unpackhi_ps(rows[row], rows[row + 1]);
    }
#pragma GCC unroll 2
    for (int row = 0; row < kLanes; row += 4) {
      rows[row] = _mm256_shuffle_ps(pairs[row], pairs[row + 2], 0x44);
      rows[row + 1] = _mm256_shuffle_ps(pairs[row], pairs[row + 2], 0xEE);
      rows[row + 2] = _mm256_shuffle_ps(pairs[row + 1], pairs[row + 3], 0x44);
      rows[row + 3] = _mm256_shuffle_ps(pairs[row + 1], pairs[row + 3], 0xEE);
    }
#pragma GCC unroll 4
    for (int row = 0; row < 4; ++row) {
      pairs[row] = _mm256_permute2f128_ps(rows[row], rows[row + 4], 0x20);
      pairs[row + 4] = _mm256_permute2f128_ps(rows[row], rows[row + 4], 0x31);
    }
#pragma GCC unroll 8
    for (int row = 0; row < kLanes; ++row) {
      rows[row] = pairs[row];
    }
  }
};

}  // namespace weft::kernels
