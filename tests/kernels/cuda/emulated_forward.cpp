// SPDX-License-Identifier: Apache-2.0
// The forward passes on emulated lanes, compiled once for all tests.
#include "kernels/cuda/emulated_launcher.h"
#include "kernels/cuda/emulated_passes.h"

namespace weft::test {

void emulate_forward(const kernels::cuda::DeviceCall& call) {
  EmulatedLauncher<false> launcher;
  with_call_format(call, [&]<typename Format>(Format) { kernels::cuda::run_forward<Format>(launcher, call); });
}

void emulate_hopper_forward(const kernels::cuda::DeviceCall& call) {
  EmulatedLauncher<true> launcher;
  with_call_format(call, [&]<typename Format>(Format) { kernels::cuda::run_forward<Format>(launcher, call); });
}

void emulate_decode(const kernels::cuda::DeviceCall& call) {
  EmulatedLauncher<false> launcher;
  with_call_format(call, [&]<typename Format>(Format) { kernels::cuda::run_decode<Format>(launcher, call); });
}

}  // namespace weft::test
