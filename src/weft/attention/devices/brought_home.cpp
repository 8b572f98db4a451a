// SPDX-License-Identifier: Apache-2.0
// Memory of the system goes to a GPU through a buffer of its driver, and is cleared page by page when it is first
// written. LibTorch keeps pinned memory for the next call, so the only new pages are those of the result.
#include "weft/attention/devices/brought_home.h"

#include <ATen/ops/empty.h>

#include <cstdint>

#include "weft/attention/devices/device_work.h"
#include "weft/attention/devices/pinned.h"

namespace weft::attention {
namespace {

constexpr std::int64_t kFewestPinnedBytes = std::int64_t{1} << 20;

}  // namespace

at::Tensor brought_home(const at::Tensor& tensor, at::ScalarType dtype) {
  const auto bytes = static_cast<std::int64_t>(tensor.nbytes());
  if (!has_own_memory(tensor.device()) || bytes < kFewestPinnedBytes || bytes > kMostPinnedBytes) {
    return tensor.to(at::kCPU, dtype).contiguous();
  }
  const at::Tensor bridge = pinned_like(tensor);
  bridge.copy_(tensor);  // waits
  const at::Tensor result = at::empty(tensor.sizes(), at::TensorOptions(dtype).device(at::kCPU));
  return result.copy_(bridge);
}

}  // namespace weft::attention
