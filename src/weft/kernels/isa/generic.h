// SPDX-License-Identifier: Apache-2.0
// Four float32 lanes in the compiler's own vectors: what every processor has (SSE2, NEON, ...), without intrinsics. It
// serves processors that have no file of their own, and the tests of the kernel's parts.
#pragma once

#include <bit>
#include <cstdint>

#include "weft/kernels/isa/units.h"

namespace weft::kernels {

struct Generic {
  static constexpr int kLanes = 4;
  /// Rows of the product's register block: 4 x 2 sums fit into sixteen registers.
  static constexpr int kProductRows = 4;
  template <typename Memory>
  using Units = FloatUnits<Generic>;
  using Vector = float __attribute__((vector_size(16)));
  using Lanes = std::int32_t __attribute__((vector_size(16)));  ///< -1 or 0 a lane
  using Bits = std::uint32_t __attribute__((vector_size(16)));
  using Words = Bits;
  using Wide = std::uint64_t __attribute__((vector_size(16)));  ///< kLanes / 2 numbers of 64 bits

  [[gnu::always_inline]] static Vector zero() noexcept { return Vector{}; }
  [[gnu::always_inline]] static Vector set(float value) noexcept { return Vector{value, value, value, value}; }
  [[gnu::always_inline]] static Vector load(const float* from) noexcept {
    Vector value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
  }
  [[gnu::always_inline]] static void store(float* to, Vector value) noexcept {
    __builtin_memcpy(to, &value, sizeof value);
  }
  [[gnu::always_inline]] static Vector add(Vector a, Vector b) noexcept { return a + b; }
  [[gnu::always_inline]] static Vector subtract(Vector a, Vector b) noexcept { return a - b; }
  [[gnu::always_inline]] static Vector multiply(Vector a, Vector b) noexcept { return a * b; }
  [[gnu::always_inline]] static Vector multiply_add(Vector a, Vector b, Vector c) noexcept { return a * b + c; }
  /// The second operand where either is NaN.
  [[gnu::always_inline]] static Vector maximum(Vector a, Vector b) noexcept { return a > b ? a : b; }
  [[gnu::always_inline]] static Vector minimum(Vector a, Vector b) noexcept { return a < b ? a : b; }
  /// Adding 1.5 x 2^23 leaves no bit behind the point: right for |a| < 2^22.
  [[gnu::always_inline]] static Vector nearest(Vector a) noexcept {
    const Vector shift = set(12582912.0F);
    return (a + shift) - shift;
  }
  /// value * 2^power for integral powers, in two halves: an exponent field alone cannot hold 2^-150 or 2^128.
  [[gnu::always_inline]] static Vector scale_by_power(Vector value, Vector power) noexcept {
    const Vector inside = minimum(maximum(power, set(-250.0F)), set(250.0F));
    const Lanes whole = __builtin_convertvector(inside, Lanes);
    const Lanes half = whole >> 1;
    const Vector first = std::bit_cast<Vector>((half + 127) << 23);
    const Vector second = std::bit_cast<Vector>((whole - half + 127) << 23);
    return value * first * second;
  }
  /// scale_by_power() takes any power.
  [[gnu::always_inline]] static Vector held_exponent(Vector x) noexcept { return x; }
  /// 0 in the lanes where x < bound, `value` in the others, those with NaN in x too.
  [[gnu::always_inline]] static Vector zero_below(Vector x, Vector bound, Vector value) noexcept {
    return x < bound ? zero() : value;
  }

  /// Lane i from bit i.
  [[gnu::always_inline]] static Lanes lanes_of(std::uint64_t bits) noexcept {
    const auto low = static_cast<std::int32_t>(bits & 15);
    const Lanes each{1, 2, 4, 8};
    return (Lanes{low, low, low, low} & each) == each;
  }
  /// `value` in the chosen lanes, `other` elsewhere.
  [[gnu::always_inline]] static Vector select(Lanes chosen, Vector value, Vector other) noexcept {
    return chosen ? value : other;
  }
  /// Lanes whose drawn 32 bits are not below the threshold.
  [[gnu::always_inline]] static Lanes at_least(Words drawn, std::uint32_t threshold) noexcept {
    return drawn >= Words{threshold, threshold, threshold, threshold};
  }
  /// Lanes whose signed numbers are above the limit.
  [[gnu::always_inline]] static Lanes above(Words words, std::int32_t limit) noexcept {
    return std::bit_cast<Lanes>(words) > Lanes{limit, limit, limit, limit};
  }
  /// The lower halves of the words moved up, zeros below.
  [[gnu::always_inline]] static Words lower_halves(Words words) noexcept { return words << 16; }
  /// Bit i from lane i.
  [[gnu::always_inline]] static std::uint64_t bits_of(Lanes lanes) noexcept {
    const Lanes each = lanes & Lanes{1, 2, 4, 8};
    return static_cast<std::uint64_t>(each[0] | each[1] | each[2] | each[3]);
  }

  [[gnu::always_inline]] static Wide wide(std::uint64_t number) noexcept { return Wide{number, number}; }
  [[gnu::always_inline]] static Wide load_wide(const std::uint64_t* from) noexcept { return Wide{from[0], from[1]}; }
  /// Of the lower halves of both.
  [[gnu::always_inline]] static Wide multiply(Wide a, Wide b) noexcept {
    return Wide{(a[0] & 0xFFFFFFFF) * (b[0] & 0xFFFFFFFF), (a[1] & 0xFFFFFFFF) * (b[1] & 0xFFFFFFFF)};
  }
  [[gnu::always_inline]] static Wide upper(Wide a) noexcept { return a >> 32; }
  [[gnu::always_inline]] static Wide exclusive_or(Wide a, Wide b, Wide c) noexcept { return a ^ b ^ c; }
  /// Lane 2 i from the lower half of number i of `even`, lane 2 i + 1 from that of `odd`.
  [[gnu::always_inline]] static Words join(Wide even, Wide odd) noexcept {
    return Words{static_cast<std::uint32_t>(even[0]), static_cast<std::uint32_t>(odd[0]),
                 static_cast<std::uint32_t>(even[1]), static_cast<std::uint32_t>(odd[1])};
  }

  /// Bit i: low[i] <= number <= high[i].
  [[gnu::always_inline]] static std::uint64_t bits_between(const std::int32_t* low, const std::int32_t* high,
                                                           std::int32_t number) noexcept {
    Lanes from;
    Lanes to;
    __builtin_memcpy(&from, low, sizeof from);
    __builtin_memcpy(&to, high, sizeof to);
    const Lanes spread{number, number, number, number};
    const Lanes each = (from <= spread) & (spread <= to) & Lanes{1, 2, 4, 8};
    return static_cast<std::uint64_t>(each[0] | each[1] | each[2] | each[3]);
  }

  [[gnu::always_inline]] static Vector widen(const float* from) noexcept { return load(from); }
  [[gnu::always_inline]] static Vector widen(const std::uint16_t* bfloat16) noexcept {
    const Bits bits{bfloat16[0], bfloat16[1], bfloat16[2], bfloat16[3]};
    return std::bit_cast<Vector>(bits << 16);
  }
  [[gnu::always_inline]] static Vector widen(const _Float16* from) noexcept {
    return Vector{static_cast<float>(from[0]), static_cast<float>(from[1]), static_cast<float>(from[2]),
                  static_cast<float>(from[3])};
  }
  [[gnu::always_inline]] static void narrow(float* to, Vector value) noexcept { store(to, value); }
  /// Rounds to the nearest, ties to even; NaN stays NaN.
  [[gnu::always_inline]] static void narrow(std::uint16_t* bfloat16, Vector value) noexcept {
    const Bits bits = std::bit_cast<Bits>(value);
    const Bits rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    for (int lane = 0; lane < kLanes; ++lane) {
      bfloat16[lane] = static_cast<std::uint16_t>(value[lane] != value[lane] ? 0x7FC0 : rounded[lane]);
    }
  }
  [[gnu::always_inline]] static void narrow(_Float16* to, Vector value) noexcept {
    for (int lane = 0; lane < kLanes; ++lane) {
      to[lane] = static_cast<_Float16>(value[lane]);
    }
  }

  /// rows[i][j] <-> rows[j][i].
  [[gnu::always_inline]] static void transpose(Vector (&rows)[kLanes]) noexcept {
    const Vector low_even = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
    const Vector high_even = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
    const Vector low_odd = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
    const Vector high_odd = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
    rows[0] = __builtin_shufflevector(low_even, low_odd, 0, 1, 4, 5);
    rows[1] = __builtin_shufflevector(low_even, low_odd, 2, 3, 6, 7);
    rows[2] = __builtin_shufflevector(high_even, high_odd, 0, 1, 4, 5);
    rows[3] = __builtin_shufflevector(high_even, high_odd, 2, 3, 6, 7);
  }
};

}  // namespace weft::kernels
