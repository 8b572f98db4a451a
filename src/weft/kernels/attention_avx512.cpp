// SPDX-License-Identifier: Apache-2.0
// The fused kernels for AVX-512.
#include "weft/kernels/fused/entry.h"
#include "weft/kernels/fused/instances.h"
#include "weft/kernels/isa/avx512.h"

namespace weft::kernels {

constinit const FusedKernels kAvx512Kernels{
    run_fused_forward<Avx512>,   run_fused_backward<Avx512>, run_element_dropout<Avx512>,
    run_row_convolution<Avx512>, run_row_norm<Avx512>,       run_score_loss<Avx512>,
    run_column_sums<Avx512>,     run_accumulation<Avx512>,   run_gelu<Avx512>};

}  // namespace weft::kernels
