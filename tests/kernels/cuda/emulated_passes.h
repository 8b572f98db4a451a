// SPDX-License-Identifier: Apache-2.0
// Every thread block of every pass of a call on emulated lanes.
#pragma once

#include "weft/kernels/cuda/device_call.h"
#include "weft/kernels/cuda/device_elements.h"
#include "weft/kernels/element_dropout.h"

namespace weft::test {

void emulate_forward(const kernels::cuda::DeviceCall& call);
/// The same on lanes that have products of slices, as sm_90a has.
void emulate_hopper_forward(const kernels::cuda::DeviceCall& call);
void emulate_backward(const kernels::cuda::DeviceCall& call);
void emulate_hopper_backward(const kernels::cuda::DeviceCall& call);
void emulate_decode(const kernels::cuda::DeviceCall& call);
void emulate_dropout(const kernels::ElementDropout& call);
void emulate_rotation(const kernels::cuda::DeviceRotation& call);

}  // namespace weft::test
