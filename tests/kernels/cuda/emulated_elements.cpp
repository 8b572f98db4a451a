// SPDX-License-Identifier: Apache-2.0
// The passes over elements on emulated lanes.
#include "kernels/cuda/emulated_launcher.h"
#include "kernels/cuda/emulated_passes.h"
#include "weft/kernels/cuda/elements.h"

namespace weft::test {

void emulate_dropout(const kernels::ElementDropout& call) {
  EmulatedLauncher<false> launcher;
  kernels::cuda::run_dropout(launcher, call);
}

void emulate_rotation(const kernels::cuda::DeviceRotation& call) {
  EmulatedLauncher<false> launcher;
  kernels::cuda::run_rotation(launcher, call);
}

}  // namespace weft::test
