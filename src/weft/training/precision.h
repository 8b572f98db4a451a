// SPDX-License-Identifier: Apache-2.0
// Mixed precision for a stretch of code: products in bfloat16, everything that sums or normalises in float32.
#pragma once

#include <array>
#include <string>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

namespace weft::training {

/// "float32" or "bfloat16": what `dtype` (also "auto") means on `device` (attention::is_fast_at_bfloat16()).
std::string resolved_dtype(const std::string& dtype, c10::Device device);

/// While one lives, LibTorch's autocast is on for `dtype` "bfloat16" and off for "float32", on the CPU and on CUDA;
/// what was before comes back after it.
class AutocastGuard {
 public:
  /// In the calling thread.
  explicit AutocastGuard(const std::string& dtype);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  struct State {
    bool is_enabled;
    c10::ScalarType dtype;
  };
  std::array<State, 2> before_;  // of the CPU, of CUDA
};

}  // namespace weft::training
