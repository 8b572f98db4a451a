// SPDX-License-Identifier: Apache-2.0
// The forward passes in float32, and in float32 on tensor cores, and those of one query a row.
#include "weft/kernels/cuda/device_launcher.h"

namespace weft::kernels::cuda {

template const char* launch_forward<Float32Format>(const DeviceCall& call, void* stream);
template const char* launch_decode<Float32Format>(const DeviceCall& call, void* stream);
template const char* launch_forward<Tf32Format>(const DeviceCall& call, void* stream);
template const char* launch_decode<Tf32Format>(const DeviceCall& call, void* stream);

}  // namespace weft::kernels::cuda
