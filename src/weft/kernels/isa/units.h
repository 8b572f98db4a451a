// SPDX-License-Identifier: Apache-2.0
// What a product multiplies: 32-bit units. A unit is one float32, or on processors that multiply them a pair of
// bfloat16 (isa/avx512bf16.h), in vectors or in tiles (isa/amx.h). All packing, products and buffers count in units, so
// that one body serves all.
#pragma once

#include <cstdint>

namespace weft::kernels {

/// Vectors need no preparation; tiles are configured by their own Session.
struct NoSession {};

template <class Isa>
struct FloatUnits {
  using Unit = float;
  using Packed = typename Isa::Vector;
  using Session = NoSession;
  static constexpr int kPerUnit = 1;
  static constexpr bool kTiled = false;
  /// A product's steps come in multiples of this many units: zeros beyond what exists.
  static constexpr std::int64_t kStep = 1;
  /// Rows of a left operand are readable up to a multiple of this.
  static constexpr std::int64_t kRows = 1;

  [[gnu::always_inline]] static Packed load(const Unit* from) noexcept { return Isa::load(from); }
  [[gnu::always_inline]] static Packed spread(const Unit* unit) noexcept { return Isa::set(*unit); }
  [[gnu::always_inline]] static Packed multiply_add(Packed a, Packed b, Packed sum) noexcept {
    return Isa::multiply_add(a, b, sum);
  }
};

/// Numbers of a product's steps come in multiples of this many.
template <class Units>
inline constexpr std::int64_t kStepNumbers = Units::kPerUnit * Units::kStep;

}  // namespace weft::kernels
