// SPDX-License-Identifier: Apache-2.0
// GELU by its tanh approximation in the vectors of one instruction set.
#pragma once

#include <cstdint>

#include "weft/kernels/elements/gelu.h"
#include "weft/kernels/fused/exponential.h"
#include "weft/kernels/fused/matrix.h"

namespace weft::kernels {

template <class Isa>
struct GeluOf {
  using Vector = typename Isa::Vector;

  static constexpr float kFactor = 1.5957691216F;  // sqrt(8 / pi)
  static constexpr float kCube = 0.044715F;

  /// 1 / (1 + exp(-t)); far below 0 the exponential is held, and the result next to nothing.
  [[gnu::always_inline]] static Vector gate(Vector x) noexcept {
    const Vector cube = Isa::multiply(Isa::multiply(x, x), x);
    const Vector t = Isa::multiply(Isa::multiply_add(cube, Isa::set(kCube), x), Isa::set(kFactor));
    const Vector held = Isa::minimum(Isa::set(88.0F), Isa::subtract(Isa::zero(), t));
    return Isa::set(1.0F) / Isa::add(Isa::set(1.0F), exponential<Isa>(held));
  }

  /// s + x s (1 - s) t' for s = gate(x).
  [[gnu::always_inline]] static Vector slope(Vector x) noexcept {
    const Vector s = gate(x);
    const Vector square = Isa::multiply(x, x);
    const Vector rise =
        Isa::multiply(Isa::multiply_add(square, Isa::set(3.0F * kCube), Isa::set(1.0F)), Isa::set(kFactor));
    const Vector width = Isa::multiply(s, Isa::subtract(Isa::set(1.0F), s));
    return Isa::multiply_add(Isa::multiply(x, width), rise, s);
  }
};

template <class Isa, typename Memory>
[[gnu::always_inline]] inline void run_gelu_of(const Gelu& call) noexcept {
  const auto* x = static_cast<const Memory*>(call.x);
  const auto* gradient = static_cast<const Memory*>(call.gradient);
  auto* output = static_cast<Memory*>(call.output);
  for (std::int64_t at = 0; at < call.count; at += Isa::kLanes) {
    const std::int64_t count = call.count - at;
    const typename Isa::Vector value = widen_part<Isa>(x + at, count);
    const typename Isa::Vector result =
        gradient == nullptr ? Isa::multiply(value, GeluOf<Isa>::gate(value))
                            : Isa::multiply(widen_part<Isa>(gradient + at, count), GeluOf<Isa>::slope(value));
    narrow_part<Isa>(output + at, result, count);
  }
}

template <class Isa>
void run_gelu(const Gelu& call) noexcept {
  if (call.dtype == DType::kBFloat16) {
    run_gelu_of<Isa, std::uint16_t>(call);
  } else {
    run_gelu_of<Isa, float>(call);
  }
}

}  // namespace weft::kernels
