// SPDX-License-Identifier: Apache-2.0
// The fused kernels for processors without a file of their own.
#include "weft/kernels/fused/entry.h"
#include "weft/kernels/fused/instances.h"
#include "weft/kernels/isa/generic.h"

namespace weft::kernels {

constinit const FusedKernels kGenericKernels{
    run_fused_forward<Generic>,   run_fused_backward<Generic>, run_element_dropout<Generic>,
    run_row_convolution<Generic>, run_row_norm<Generic>,       run_score_loss<Generic>,
    run_column_sums<Generic>,     run_accumulation<Generic>,   run_gelu<Generic>};

}  // namespace weft::kernels
