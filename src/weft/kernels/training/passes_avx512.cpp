// SPDX-License-Identifier: Apache-2.0
// Passes of a training step in the instruction set that the file is named after.
#include "weft/kernels/isa/avx512.h"
#include "weft/kernels/training/entry.h"
#include "weft/kernels/training/instances.h"

namespace weft::kernels {

constinit const TrainingKernels kAvx512Training = kTrainingKernelsOf<Avx512>;

}  // namespace weft::kernels
