// SPDX-License-Identifier: Apache-2.0
// The list: a row a backend.
#include "weft/attention/backends/list.h"

#include <c10/core/Device.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/attention/backends/cpu/cpu_backend.h"
#include "weft/attention/backends/cuda/cuda_backend.h"
#include "weft/attention/backends/portable/portable_backend.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"

namespace weft::attention {
namespace {

constexpr const Backend* kBackends[] = {&kCpuBackend, &kCudaBackend, &kPortableBackend};

constinit std::span<const Backend* const> backends_in_use = kBackends;

}  // namespace

std::span<const Backend* const> backends() noexcept { return backends_in_use; }

std::vector<Refusal> distinct(const std::vector<Refusal>& refusals) {
  std::vector<Refusal> found;
  for (const Refusal& refusal : refusals) {
    const auto is_same = [&](const Refusal& other) { return std::strcmp(other.reason, refusal.reason) == 0; };
    if (std::none_of(found.begin(), found.end(), is_same)) {
      found.push_back(refusal);
    }
  }
  return found;
}

std::string reasons_of(const std::vector<Refusal>& refusals) {
  return joined(distinct(refusals), "; ",
                [](const Refusal& refusal) { return concat(refusal.backend, ": ", refusal.reason); });
}

void refuse(const char* what, const std::vector<Refusal>& refusals) {
  fail(ErrorKind::kUnsupported, "attention: no backend takes ", what, "; ", reasons_of(refusals));
}

const DeviceTraits& traits_of(c10::DeviceType device) {
  for (const Backend* backend : backends()) {
    if (backend->traits.serves != nullptr && backend->traits.serves(device)) {
      return backend->traits;
    }
  }
  std::vector<Refusal> refusals;
  for (const Backend* backend : backends()) {
    refusals.push_back({backend->name, "it does not serve the device"});
  }
  refuse(concat("tensors on ", c10::DeviceTypeName(device, true)).c_str(), refusals);
}

BackendsInUse::BackendsInUse(std::vector<const Backend*> backends) noexcept
    : backends_(std::move(backends)), before_(backends_in_use) {
  backends_in_use = backends_;
}
BackendsInUse::~BackendsInUse() { backends_in_use = before_; }

}  // namespace weft::attention
