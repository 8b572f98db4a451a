// SPDX-License-Identifier: Apache-2.0
// The exponential of the fused kernels as one instruction set computes it, for tests that call it.
#pragma once

namespace weft::test {

/// to[i] = exp(x[i]) of 16 numbers.
using Exponentials = void (*)(const float* x, float* to);

void exponentials_avx2(const float* x, float* to);
void exponentials_avx512(const float* x, float* to);
void short_exponentials_avx512(const float* x, float* to);

}  // namespace weft::test
