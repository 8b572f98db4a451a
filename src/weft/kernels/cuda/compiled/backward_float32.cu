// SPDX-License-Identifier: Apache-2.0
// The backward passes in float32, and in float32 on tensor cores.
#include "weft/kernels/cuda/device_launcher.h"

namespace weft::kernels::cuda {

template const char* launch_backward<Float32Format>(const DeviceCall& call, void* stream);
template const char* launch_backward<Tf32Format>(const DeviceCall& call, void* stream);

}  // namespace weft::kernels::cuda
