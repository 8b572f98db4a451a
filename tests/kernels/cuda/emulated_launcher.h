// SPDX-License-Identifier: Apache-2.0
// Launches passes on emulated lanes: one thread block after the other, each with shared memory of its size.
#pragma once

#include <cstdint>

#include "kernels/cuda/emulated_lanes.h"
#include "weft/kernels/cuda/passes.h"

namespace weft::test {

/// Whether a pass has another way where lanes have products of slices.
template <typename Pass>
constexpr bool may_go_ahead() {
  if constexpr (requires { Pass::kMayGoAhead; }) {
    return Pass::kMayGoAhead;
  }
  return false;
}

/// kIsHopper: lanes have products of slices.
template <bool kIsHopper>
struct EmulatedLauncher {
  /// One in so many blocks has its accesses checked: all do the same.
  static constexpr std::int64_t kCheckedBlocks = 8;

  static bool has_slice_products() { return kIsHopper; }

  template <typename Pass, typename Call>
  void launch(const Call& call) {
    const kernels::cuda::Grid grid = Pass::grid(call);
    for (std::int64_t block = 0; block < grid.x * grid.y * grid.z; ++block) {
      EmulatedLanes<Pass::kThreads, kIsHopper && may_go_ahead<Pass>()> lanes(Pass::shared_bytes(call),
                                                                             block % kCheckedBlocks == 0);
      Pass::block(lanes, call, {block % grid.x, block / grid.x % grid.y, block / grid.x / grid.y});
    }
  }
};

}  // namespace weft::test
