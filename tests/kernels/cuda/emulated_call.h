// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels on emulated lanes as kernels of this machine, so that the tests of all kernels have them too. Plans
// and memory are as a device would have them.
#pragma once

#include <cstdint>

#include "kernels/cuda/emulated_passes.h"
#include "weft/kernels/cuda/plan.h"
#include "weft/kernels/fused/instances.h"

namespace weft::test {

/// Parts of at most so many blocks, from now on; and whether the last call copied rows by cp.async.
void cut_emulated_parts(std::int64_t longest);
bool emulated_copies_were_aligned();
/// Whether float32 is multiplied on tensor cores, from now on.
void use_emulated_tf32(bool is_used);

/// Errors end the process: kernels do not throw.
extern const kernels::FusedKernels kEmulatedCudaKernels;
/// The same with the forward pass of sm_90a.
extern const kernels::FusedKernels kEmulatedHopperKernels;

}  // namespace weft::test
