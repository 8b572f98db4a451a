// SPDX-License-Identifier: Apache-2.0
// Passes of a training step in the instruction set that the file is named after.
#include "weft/kernels/isa/generic.h"
#include "weft/kernels/training/entry.h"
#include "weft/kernels/training/instances.h"

namespace weft::kernels {

constinit const TrainingKernels kGenericTraining = kTrainingKernelsOf<Generic>;

}  // namespace weft::kernels
