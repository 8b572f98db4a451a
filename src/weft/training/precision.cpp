// SPDX-License-Identifier: Apache-2.0
// LibTorch's autocast state, set and put back. Weights that it cast are dropped with the outermost guard, since the
// optimiser is about to change them.
#include "weft/training/precision.h"

#include <ATen/autocast_mode.h>

#include "weft/attention/devices/device_work.h"

namespace weft::training {

namespace {

constexpr std::array kDevices{at::kCPU, at::kCUDA};

}  // namespace

std::string resolved_dtype(const std::string& dtype, c10::Device device) {
  if (dtype != "auto") {
    return dtype;
  }
  return attention::is_fast_at_bfloat16(device) ? "bfloat16" : "float32";
}

AutocastGuard::AutocastGuard(const std::string& dtype) {
  for (std::size_t i = 0; i < kDevices.size(); ++i) {
    before_[i] = {at::autocast::is_autocast_enabled(kDevices[i]), at::autocast::get_autocast_dtype(kDevices[i])};
    at::autocast::set_autocast_enabled(kDevices[i], dtype == "bfloat16");
    at::autocast::set_autocast_dtype(kDevices[i], at::kBFloat16);
  }
  // LibTorch keeps weights that it has cast until the outermost guard ends; an optimiser step in between would leave
  // them stale.
  at::autocast::increment_nesting();
}

AutocastGuard::~AutocastGuard() {
  if (at::autocast::decrement_nesting() == 0) {
    at::autocast::clear_cache();
  }
  for (std::size_t i = 0; i < kDevices.size(); ++i) {
    at::autocast::set_autocast_enabled(kDevices[i], before_[i].is_enabled);
    at::autocast::set_autocast_dtype(kDevices[i], before_[i].dtype);
  }
}

}  // namespace weft::training
