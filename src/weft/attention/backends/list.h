// SPDX-License-Identifier: Apache-2.0
// The backends of this program in the order in which they are asked, and the question who takes a call. A call that no
// backend takes is an error with the reason of each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/attention/backends/backend.h"

namespace weft::attention {

/// The most special first, LibTorch's operators last.
std::span<const Backend* const> backends() noexcept;

/// Why a backend does not take a call.
struct Refusal {
  const char* backend;
  const char* reason;
};

/// Without those whose reason another gave before.
std::vector<Refusal> distinct(const std::vector<Refusal>& refusals);

/// "NAME: REASON; NAME: REASON", each reason once.
std::string reasons_of(const std::vector<Refusal>& refusals);

/// Errors, always: kUnsupported, "attention: no backend takes WHAT" and the reasons.
[[noreturn]] void refuse(const char* what, const std::vector<Refusal>& refusals);

/// The first backend that takes a call by its row: backend_for(&Backend::dropout, call, "dropout of elements"). Errors:
/// kUnsupported where none does.
template <typename Row, typename GivenCall>
const Backend& backend_for(Row Backend::* row, const GivenCall& call, const char* what) {
  for (const Backend* backend : backends()) {
    const auto takes = (backend->*row).takes;
    if (takes != nullptr && takes(call).is_yes()) {
      return *backend;
    }
  }
  std::vector<Refusal> refusals;
  for (const Backend* backend : backends()) {
    const auto takes = (backend->*row).takes;
    refusals.push_back({backend->name, takes == nullptr ? "it has nothing for such calls" : takes(call).reason()});
  }
  refuse(what, refusals);
}

/// Those of the first backend that serves the device. Errors: kUnsupported where none does.
const DeviceTraits& traits_of(c10::DeviceType device);

/// Other backends for the current scope, for tests: no other thread may compute meanwhile.
class BackendsInUse {
 public:
  explicit BackendsInUse(std::vector<const Backend*> backends) noexcept;
  ~BackendsInUse();
  BackendsInUse(const BackendsInUse&) = delete;
  BackendsInUse& operator=(const BackendsInUse&) = delete;

 private:
  std::vector<const Backend*> backends_;
  std::span<const Backend* const> before_;
};

}  // namespace weft::attention
