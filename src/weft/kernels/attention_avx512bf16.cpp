// SPDX-License-Identifier: Apache-2.0
// The fused kernels for AVX-512 with BF16.
#include "weft/kernels/fused/entry.h"
#include "weft/kernels/fused/instances.h"
#include "weft/kernels/isa/avx512bf16.h"

namespace weft::kernels {

constinit const FusedKernels kAvx512Bf16Kernels{
    run_fused_forward<Avx512Bf16>,   run_fused_backward<Avx512Bf16>, run_element_dropout<Avx512Bf16>,
    run_row_convolution<Avx512Bf16>, run_row_norm<Avx512Bf16>,       run_score_loss<Avx512Bf16>,
    run_column_sums<Avx512Bf16>,     run_accumulation<Avx512Bf16>,   run_gelu<Avx512Bf16>};

}  // namespace weft::kernels
