// SPDX-License-Identifier: Apache-2.0
// exp to float32 accuracy in vector lanes: x = n ln 2 + r, e^r = 1 + r p(r), times 2^n. p is a minimax fit of degree 4
// on |r| <= ln 2 / 2: the whole is off by at most 9e-8 before it is rounded (the Taylor polynomial of the same cost by
// 3e-6). Multiplications are what it costs: n is rounded by an addition, and the last step adds the 1.
#pragma once

namespace weft::kernels {

/// exp(x): 0 below -87.33 (the smallest normal float), NaN for NaN, right up to 88.7 and not finite beyond.
template <class Isa>
[[gnu::always_inline]] inline typename Isa::Vector exponential(typename Isa::Vector exponent) noexcept {
  using Vector = typename Isa::Vector;
  const Vector x = Isa::held_exponent(exponent);
  const Vector shift = Isa::set(12582912.0F);  // 1.5 x 2^23: a sum with it has no bit behind the point
  const Vector power = Isa::subtract(Isa::multiply_add(x, Isa::set(1.44269504089F), shift), shift);
  // ln 2 in two parts (Cody and Waite): the first has so few bits that its product is exact.
  Vector rest = Isa::multiply_add(power, Isa::set(-0.693359375F), x);
  rest = Isa::multiply_add(power, Isa::set(2.12194440e-4F), rest);
  Vector fit = Isa::set(8.2903061672e-3F);
  fit = Isa::multiply_add(fit, rest, Isa::set(4.1897975366e-2F));
  fit = Isa::multiply_add(fit, rest, Isa::set(1.6667636582e-1F));
  fit = Isa::multiply_add(fit, rest, Isa::set(4.9999149193e-1F));
  fit = Isa::multiply_add(fit, rest, Isa::set(9.9999970701e-1F));
  fit = Isa::multiply_add(fit, rest, Isa::set(1.0F));
  return Isa::zero_below(x, Isa::set(-87.33F), Isa::scale_by_power(fit, power));
}

/// exp(x) for numbers that are rounded to bfloat16 next, in 9 operations and not 13: off by at most 1e-5, where that
/// rounding is off by up to 4e-3. exp(0) is 1; 0 below -87.33, NaN for NaN, not finite where exp(x) is none. With
/// AVX-512 only. The fit of 2^f on [0, 1) is the minimax one of degree 4 that is 1 at 0, off by 3e-6; the rest is what
/// rounding x log2(e) leaves.
template <class Isa>
[[gnu::always_inline]] inline typename Isa::Vector short_exponential(typename Isa::Vector exponent) noexcept {
  using Vector = typename Isa::Vector;
  const Vector power = Isa::multiply(exponent, Isa::set(1.44269504089F));
  const Vector rest = Isa::above_floor(power);
  Vector fit = Isa::set(1.34266838e-2F);
  fit = Isa::multiply_add(fit, rest, Isa::set(5.22424728e-2F));
  fit = Isa::multiply_add(fit, rest, Isa::set(2.41280198e-1F));
  fit = Isa::multiply_add(fit, rest, Isa::set(6.93044841e-1F));
  fit = Isa::multiply_add(fit, rest, Isa::set(1.0F));
  // Numbers below the normal ones would be made by the processor's microcode: a row of them took eight times as long.
  return Isa::zero_below(exponent, Isa::set(-87.33F), Isa::scale_by_power(fit, power));
}

}  // namespace weft::kernels
