// SPDX-License-Identifier: Apache-2.0
// The exponential in lanes of AVX-512.
#include "kernels/exponentials.h"
#include "weft/kernels/fused/exponential.h"
#include "weft/kernels/isa/avx512.h"

namespace weft::test {

void exponentials_avx512(const float* x, float* to) {
  for (int i = 0; i < 16; i += kernels::Avx512::kLanes) {
    kernels::Avx512::store(to + i, kernels::exponential<kernels::Avx512>(kernels::Avx512::load(x + i)));
  }
}

void short_exponentials_avx512(const float* x, float* to) {
  kernels::Avx512::store(to, kernels::short_exponential<kernels::Avx512>(kernels::Avx512::load(x)));
}

}  // namespace weft::test
