// SPDX-License-Identifier: Apache-2.0
// Mixed precision for a stretch of code: products in bfloat16, everything that sums or normalises in float32.
#pragma once

#include <string>

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

namespace weft::training {

/// While one lives, LibTorch's autocast is on for `dtype` "bfloat16" and off for "float32"; what was before comes back
/// after it.
class AutocastGuard {
 public:
  /// For operators on `device`, in the calling thread.
  explicit AutocastGuard(const std::string& dtype, c10::DeviceType device = c10::DeviceType::CPU);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  c10::DeviceType device_;
  bool enabled_before_;
  c10::ScalarType dtype_before_;
};

}  // namespace weft::training
