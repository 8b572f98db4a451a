// SPDX-License-Identifier: Apache-2.0
// The passes of a training step in one instruction set: what a file of it compiles.
#pragma once

#include "weft/kernels/training/instances.h"
#include "weft/kernels/training/ring_pass.h"

namespace weft::kernels {

template <class Isa>
inline constexpr TrainingKernels kTrainingKernelsOf{Isa::kLanes, run_ring_forward<Isa>, run_ring_backward<Isa>};

}  // namespace weft::kernels
