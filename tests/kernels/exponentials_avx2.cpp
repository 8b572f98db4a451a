// SPDX-License-Identifier: Apache-2.0
// The exponential in lanes of AVX2.
#include "kernels/exponentials.h"
#include "weft/kernels/fused/exponential.h"
#include "weft/kernels/isa/avx2.h"

namespace weft::test {

void exponentials_avx2(const float* x, float* to) {
  for (int i = 0; i < 16; i += kernels::Avx2::kLanes) {
    kernels::Avx2::store(to + i, kernels::exponential<kernels::Avx2>(kernels::Avx2::load(x + i)));
  }
}

}  // namespace weft::test
