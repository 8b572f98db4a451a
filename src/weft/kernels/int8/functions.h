// SPDX-License-Identifier: Apache-2.0
// What is done with a vector of sums behind a product. The functions are right to 2e-7 of their largest number, far
// below what codes of eight bits round. What is multiplied and added is one operation by name: where the compiler may
// choose, copies of a function differ in their last bits.
#pragma once

#include "weft/kernels/fused/exponential.h"
#include "weft/kernels/int8/product.h"

namespace weft::kernels {

/// x / (1 + exp(-t)); where t is far below 0 the exponential is held, and the result next to nothing.
template <class Isa>
[[gnu::always_inline]] inline typename Isa::Vector gated_by_sigmoid(typename Isa::Vector x,
                                                                    typename Isa::Vector t) noexcept {
  const typename Isa::Vector held = Isa::minimum(Isa::set(88.0F), Isa::subtract(Isa::zero(), t));
  return x / Isa::add(Isa::set(1.0F), exponential<Isa>(held));
}

/// x Phi(x) = max(x, 0) - |x| erfc(|x| / sqrt 2) / 2, erfc by Abramowitz and Stegun 7.1.26.
template <class Isa>
[[gnu::always_inline]] inline typename Isa::Vector gelu(typename Isa::Vector x) noexcept {
  using Vector = typename Isa::Vector;
  const Vector size = Isa::maximum(Isa::subtract(Isa::zero(), x), x);
  const Vector z = Isa::multiply(size, Isa::set(0.70710678F));
  const Vector t = Isa::set(1.0F) / Isa::multiply_add(z, Isa::set(0.3275911F), Isa::set(1.0F));
  Vector fit = Isa::set(1.061405429F);
  fit = Isa::multiply_add(fit, t, Isa::set(-1.453152027F));
  fit = Isa::multiply_add(fit, t, Isa::set(1.421413741F));
  fit = Isa::multiply_add(fit, t, Isa::set(-0.284496736F));
  fit = Isa::multiply_add(fit, t, Isa::set(0.254829592F));
  const Vector tail = exponential<Isa>(Isa::subtract(Isa::zero(), Isa::multiply(z, z)));
  const Vector beyond = Isa::multiply(Isa::multiply(fit, t), tail);
  return Isa::multiply_add(Isa::multiply(size, Isa::set(-0.5F)), beyond, Isa::maximum(Isa::zero(), x));
}

template <class Isa, Int8Function kFunction>
[[gnu::always_inline]] inline typename Isa::Vector applied(typename Isa::Vector x) noexcept {
  if constexpr (kFunction == Int8Function::kGelu) {
    return gelu<Isa>(x);
  } else if constexpr (kFunction == Int8Function::kGeluNew) {
    const typename Isa::Vector cube = Isa::multiply(Isa::multiply(x, x), x);
    const typename Isa::Vector inner = Isa::multiply_add(cube, Isa::set(0.044715F), x);
    return gated_by_sigmoid<Isa>(x, Isa::multiply(inner, Isa::set(1.5957691216F)));
  } else if constexpr (kFunction == Int8Function::kQuickGelu) {
    return gated_by_sigmoid<Isa>(x, Isa::multiply(x, Isa::set(1.702F)));
  } else if constexpr (kFunction == Int8Function::kRelu) {
    return Isa::maximum(Isa::zero(), x);
  } else if constexpr (kFunction == Int8Function::kSilu) {
    return gated_by_sigmoid<Isa>(x, x);
  } else {
    return x;
  }
}

}  // namespace weft::kernels
