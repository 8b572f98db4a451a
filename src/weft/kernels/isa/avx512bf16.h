// SPDX-License-Identifier: Apache-2.0
// AVX-512 with BF16 dot products: bfloat16 storage is multiplied in pairs, float32 sums; everything else is AVX-512.
#pragma once

#include <type_traits>

#include "weft/kernels/isa/avx512.h"
#include "weft/kernels/isa/units.h"

namespace weft::kernels {

/// Two neighbouring bfloat16 numbers in 32 bits, the earlier one in the lower half; a lane multiplies and adds both.
struct PairUnits {
  using Unit = std::uint32_t;
  using Packed = __m512i;
  using Session = NoSession;
  static constexpr int kPerUnit = 2;
  static constexpr bool kTiled = false;
  static constexpr std::int64_t kStep = 1;
  static constexpr std::int64_t kRows = 1;

  [[gnu::always_inline]] static Packed load(const Unit* from) noexcept { return _mm512_loadu_si512(from); }
  [[gnu::always_inline]] static Packed spread(const Unit* unit) noexcept {
    int bits;  // read as bytes: a row of bfloat16 may start at any even address
    __builtin_memcpy(&bits, unit, sizeof bits);
    return _mm512_set1_epi32(bits);
  }
  /// sum + a.low * b.low + a.high * b.high
  [[gnu::always_inline]] static __m512 multiply_add(Packed a, Packed b, __m512 sum) noexcept {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  }
  /// sum + units.low + units.high
  [[gnu::always_inline]] static __m512 add_both(__m512 sum, Packed units) noexcept {
    return multiply_add(units, _mm512_set1_epi32(0x3F803F80), sum);  // by ones
  }
  /// Stores and returns sixteen units from the numbers of an even and of the next row.
  [[gnu::always_inline]] static Packed store_pair(Unit* to, __m512 even, __m512 odd) noexcept {
    const __m512i halves = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(odd, even));
    const __m512i interleaved = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7,
                                                 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const Packed units = _mm512_permutexvar_epi16(interleaved, halves);
    _mm512_storeu_si512(to, units);
    return units;
  }
  /// Eight units from sixteen numbers of one row.
  [[gnu::always_inline]] static void store_row(Unit* to, __m512 numbers) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(numbers)));
  }
};

struct Avx512Bf16 : Avx512 {
  /// What storage of type Memory is multiplied as.
  template <typename Memory>
  using Units = std::conditional_t<std::is_same_v<Memory, std::uint16_t>, PairUnits, FloatUnits<Avx512>>;
};

}  // namespace weft::kernels
