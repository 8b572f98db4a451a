// SPDX-License-Identifier: Apache-2.0
// Where a tensor's memory is, for code that reads it by its address whoever computes.
#pragma once

#include <ATen/core/Tensor.h>

namespace weft::attention {

inline bool is_in_host_memory(const at::Tensor& tensor) { return tensor.is_cpu(); }

}  // namespace weft::attention
