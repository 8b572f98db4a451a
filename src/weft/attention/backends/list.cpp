// SPDX-License-Identifier: Apache-2.0
// The list: a row a backend.
#include "weft/attention/backends/list.h"

#include <cstring>

#include <c10/core/Device.h>

#include "weft/attention/backends/cpu/cpu_backend.h"
#include "weft/attention/backends/portable/portable_backend.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

constexpr const Backend* kBackends[] = {&kCpuBackend, &kPortableBackend};

constinit std::span<const Backend* const> backends_in_use = kBackends;

}  // namespace

std::span<const Backend* const> backends() noexcept { return backends_in_use; }

std::string reasons_of(const std::vector<Refusal>& refusals) {
  std::string reasons;
  for (std::size_t at = 0; at < refusals.size(); ++at) {
    bool is_new = true;
    for (std::size_t before = 0; before < at; ++before) {
      is_new = is_new && std::strcmp(refusals[before].reason, refusals[at].reason) != 0;
    }
    if (is_new) {
      reasons += concat(reasons.empty() ? "" : "; ", refusals[at].backend, ": ", refusals[at].reason);
    }
  }
  return reasons;
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

BackendsInUse::BackendsInUse(std::span<const Backend* const> backends) noexcept : before_(backends_in_use) {
  backends_in_use = backends;
}
BackendsInUse::~BackendsInUse() { backends_in_use = before_; }

}  // namespace weft::attention
