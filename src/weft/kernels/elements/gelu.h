// SPDX-License-Identifier: Apache-2.0
// GELU by its tanh approximation, forwards and backwards, in vectors: what layers/activation.h calls on a CPU where a
// processor has kernels. LibTorch's, with a tanh of another library, takes 25 ms each way for [4,096, 3,072].
#pragma once

#include <cstdint>

#include "weft/kernels/fused.h"

namespace weft::kernels {

/// output = g(x), or with `gradient` output = gradient g'(x), for g(x) = x / (1 + exp(-t)) and
/// t = sqrt(8 / pi) (x + 0.044715 x^3), which is x (1 + tanh(t / 2)) / 2 (Hendrycks and Gimpel 2016). In float32,
/// rounded once.
struct Gelu {
  DType dtype = DType::kFloat32;   ///< of all arrays
  const void* x = nullptr;         ///< [count]
  const void* gradient = nullptr;  ///< [count] or null
  void* output = nullptr;          ///< [count]; may be `x` or `gradient`
  std::int64_t count = 0;
};

/// Whether apply_gelu() takes numbers of `dtype` with this instruction set: float32 and bfloat16 with all but kScalar.
bool takes_gelu(InstructionSet isa, DType dtype) noexcept;

/// One thread's share of a tensor. The call must be one that takes_gelu says yes to.
void apply_gelu(InstructionSet isa, const Gelu& call) noexcept;

}  // namespace weft::kernels
