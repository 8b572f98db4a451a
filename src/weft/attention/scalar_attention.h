// SPDX-License-Identifier: Apache-2.0
// The bridge from LibTorch tensors to the kernels of kernels/, on LibTorch's threads.
#pragma once

#include "weft/attention/call.h"

namespace weft::attention {

/// CPU only. Errors: kArgument when the kernel does not accept the call.
Forward scalar_forward(const Call& call);
Gradients scalar_backward(const Call& call, const Forward& forward, const at::Tensor& output_gradient);

}  // namespace weft::attention
