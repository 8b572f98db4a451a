// SPDX-License-Identifier: Apache-2.0
// The backward passes in bfloat16.
#include "weft/kernels/cuda/device_launcher.h"

namespace weft::kernels::cuda {

template const char* launch_backward<BFloat16Format>(const DeviceCall& call, void* stream);

}  // namespace weft::kernels::cuda
