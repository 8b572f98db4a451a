// SPDX-License-Identifier: Apache-2.0
// Memory of the CPU that a GPU reads and writes at once. LibTorch keeps it for the next call, and gives it to nobody
// before the copies that it was made for are over.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

namespace weft::attention {

/// LibTorch pins powers of two: of what is larger nobody wants a second copy.
inline constexpr std::int64_t kMostPinnedBytes = std::int64_t{256} << 20;

/// Room on the CPU for what `tensor` holds, contiguous, in its dtype.
inline at::Tensor pinned_like(const at::Tensor& tensor) {
  return at::empty(tensor.sizes(), at::TensorOptions(tensor.scalar_type()).device(at::kCPU).pinned_memory(true));
}

}  // namespace weft::attention
