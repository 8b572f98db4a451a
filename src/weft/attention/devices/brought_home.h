// SPDX-License-Identifier: Apache-2.0
// Results of a device in the memory of the CPU.
#pragma once

#include <ATen/core/Tensor.h>

namespace weft::attention {

/// `tensor` on the CPU, contiguous, in `dtype`: itself where it is that already. What a GPU computed comes in its own
/// dtype by memory that the GPU writes to at once, where it is large, and is widened here.
at::Tensor brought_home(const at::Tensor& tensor, at::ScalarType dtype);

}  // namespace weft::attention
