// SPDX-License-Identifier: Apache-2.0
// What a product multiplies: 32-bit units. A unit is one float32, or on processors that multiply them a pair of
// bfloat16 (isa/avx512bf16.h). All packing, products and buffers count in units, so that one body serves both.
#pragma once

#include <cstdint>

namespace weft::kernels {

template <class Isa>
struct FloatUnits {
  using Unit = float;
  using Packed = typename Isa::Vector;
  static constexpr int kPerUnit = 1;

  [[gnu::always_inline]] static Packed load(const Unit* from) noexcept { return Isa::load(from); }
  [[gnu::always_inline]] static Packed spread(const Unit* unit) noexcept { return Isa::set(*unit); }
  [[gnu::always_inline]] static Packed multiply_add(Packed a, Packed b, Packed sum) noexcept {
    return Isa::multiply_add(a, b, sum);
  }
};

}  // namespace weft::kernels
