// SPDX-License-Identifier: Apache-2.0
// The convolution over rows by the kernel of kernels/.
#pragma once

#include "weft/attention/backends/backend.h"

namespace weft::attention {

/// Float32 on a CPU.
Answer kernel_takes_convolution(const ConvolutionCall& call);

at::Tensor kernel_convolution(const ConvolutionCall& call);
ConvolutionGradients kernel_convolution_gradients(const ConvolutionCall& call, const at::Tensor& gradient,
                                                  bool asks_values, bool asks_weights);

}  // namespace weft::attention
