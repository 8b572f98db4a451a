// SPDX-License-Identifier: Apache-2.0
// The AMX kernels with tiles made of loops: for processors with AVX-512 BF16 and no AMX.
#pragma once

#include "weft/kernels/fused/instances.h"
#include "weft/kernels/int8/instances.h"

namespace weft::test {

extern const kernels::FusedKernels kEmulatedAmxKernels;
extern const kernels::Int8Kernels kEmulatedAmxInt8;

/// The one-time check of the AMX kernels, on emulated tiles.
bool emulated_product_is_right() noexcept;

}  // namespace weft::test
