// SPDX-License-Identifier: Apache-2.0
// The backward passes on emulated lanes, compiled once for all tests.
#include "kernels/cuda/emulated_launcher.h"
#include "kernels/cuda/emulated_passes.h"

namespace weft::test {

void emulate_backward(const kernels::cuda::DeviceCall& call) {
  EmulatedLauncher<false> launcher;
  with_call_format(call, [&]<typename Format>(Format) { kernels::cuda::run_backward<Format>(launcher, call); });
}

void emulate_hopper_backward(const kernels::cuda::DeviceCall& call) {
  EmulatedLauncher<true> launcher;
  with_call_format(call, [&]<typename Format>(Format) { kernels::cuda::run_backward<Format>(launcher, call); });
}

}  // namespace weft::test
