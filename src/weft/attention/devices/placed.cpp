// SPDX-License-Identifier: Apache-2.0
// CUDA promises of a copy from pageable memory neither that it is over when the call returns nor that the memory was
// read by then ("might be synchronous", CUDA Driver API, API synchronization behavior); where a GPU reads the pages of
// the machine, as on Grace Hopper, it may be read late. LibTorch uses pinned memory again only behind its copies.
#include "weft/attention/devices/placed.h"

#include "weft/attention/devices/pinned.h"

namespace weft::attention {

at::Tensor placed(const at::Tensor& tensor, c10::Device device) {
  if (!tensor.defined() || tensor.device() == device) {
    return tensor;
  }
  const auto bytes = static_cast<std::int64_t>(tensor.nbytes());
  if (has_own_memory(tensor.device()) || !has_own_memory(device) || bytes > kMostPinnedBytes) {
    return tensor.to(device, tensor.scalar_type());
  }
  return pinned_like(tensor).copy_(tensor).to(device, tensor.scalar_type(), /*non_blocking=*/true);
}

}  // namespace weft::attention
