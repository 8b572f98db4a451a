// SPDX-License-Identifier: Apache-2.0
// The forward passes on emulated lanes, compiled once for all tests.
#include "kernels/cuda/emulated_launcher.h"
#include "kernels/cuda/emulated_passes.h"

namespace weft::test {

void emulate_forward(const kernels::cuda::DeviceCall& call) {
  EmulatedLauncher launcher;
  kernels::cuda::run_forward(launcher, call);
}

}  // namespace weft::test
