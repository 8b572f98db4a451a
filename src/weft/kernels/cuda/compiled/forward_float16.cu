// SPDX-License-Identifier: Apache-2.0
// The forward passes in float16, and those of one query a row.
#include "weft/kernels/cuda/device_launcher.h"

namespace weft::kernels::cuda {

template const char* launch_forward<Float16Format>(const DeviceCall& call, void* stream);
template const char* launch_decode<Float16Format>(const DeviceCall& call, void* stream);

}  // namespace weft::kernels::cuda
