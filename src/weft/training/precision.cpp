// SPDX-License-Identifier: Apache-2.0
// LibTorch's autocast state, set and put back. Weights that it cast are dropped with the outermost guard, since the
// optimiser is about to change them.
#include "weft/training/precision.h"

#include <ATen/autocast_mode.h>

namespace weft::training {

AutocastGuard::AutocastGuard(const std::string& dtype, c10::DeviceType device)
    : device_(device),
      enabled_before_(at::autocast::is_autocast_enabled(device)),
      dtype_before_(at::autocast::get_autocast_dtype(device)) {
  at::autocast::set_autocast_enabled(device_, dtype == "bfloat16");
  at::autocast::set_autocast_dtype(device_, at::kBFloat16);
  // LibTorch keeps weights that it has cast until the outermost guard ends; an optimiser step in between would leave
  // them stale.
  at::autocast::increment_nesting();
}

AutocastGuard::~AutocastGuard() {
  if (at::autocast::decrement_nesting() == 0) {
    at::autocast::clear_cache();
  }
  at::autocast::set_autocast_enabled(device_, enabled_before_);
  at::autocast::set_autocast_dtype(device_, dtype_before_);
}

}  // namespace weft::training
