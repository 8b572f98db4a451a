// SPDX-License-Identifier: Apache-2.0
// The fused kernels for AVX2 and FMA.
#include "weft/kernels/fused/entry.h"
#include "weft/kernels/fused/instances.h"
#include "weft/kernels/isa/avx2.h"

namespace weft::kernels {

constinit const FusedKernels kAvx2Kernels{
    run_fused_forward<Avx2>,   run_fused_backward<Avx2>, run_element_dropout<Avx2>,
    run_row_convolution<Avx2>, run_row_norm<Avx2>,       run_score_loss<Avx2>,
    run_column_sums<Avx2>,     run_accumulation<Avx2>,   run_gelu<Avx2>};

}  // namespace weft::kernels
