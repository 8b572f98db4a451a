// SPDX-License-Identifier: Apache-2.0
// The fused kernels for AMX with BF16.
#include "weft/kernels/fused/entry.h"
#include "weft/kernels/fused/instances.h"
#include "weft/kernels/fused/tile_check.h"
#include "weft/kernels/isa/amx.h"

namespace weft::kernels {

constinit const FusedKernels kAmxKernels{run_fused_forward<Amx>,   run_fused_backward<Amx>, run_element_dropout<Amx>,
                                         run_row_convolution<Amx>, run_row_norm<Amx>,       run_score_loss<Amx>,
                                         run_column_sums<Amx>,     run_accumulation<Amx>,   run_gelu<Amx>};

bool amx_product_is_right() noexcept { return tile_product_is_right<Amx>(); }

}  // namespace weft::kernels
