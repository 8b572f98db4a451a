// SPDX-License-Identifier: Apache-2.0
// A walk over blocks of the layout is two kernels: a hot one, which leaves a flag where it met what is not finite, and
// a careful one, which runs blocks with a flag again.
#pragma once

#include <cstdint>

#include "weft/kernels/cuda/passes/grid.h"

namespace weft::kernels::cuda {

/// A thread block of a walk, whether it must run again, carefully. The lanes and the walk say which way it goes:
/// Walk::Ahead where products of slices are begun ahead, else Walk::Block.
template <typename Walk, bool kCareful, typename Lanes>
WEFT_DEVICE bool run_walk_block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
  const WorkList& list = Walk::list(call);
  const Place place = walk_place < typename Walk::Format, Walk::kMayGoAhead || kCareful > (call, list, at);
  WorkItem item{};
  if constexpr (Walk::kReadsAtOnce) {
    item = item_at_once<Lanes>(call, list, place);
  } else {
    item = item_of(call, list, place);
  }
  if constexpr (Lanes::kHasSliceProducts && Walk::kMayGoAhead && !kCareful) {
    return is_there(item) && typename Walk::template Ahead<Lanes>(lanes, call, place, item).run();
  } else if constexpr (Walk::kOnlyAhead) {
    return false;  // nobody launches it
  } else {
    return is_there(item) && typename Walk::template Block<Lanes, kCareful>(lanes, call, place, item).run();
  }
}

/// How many flags a walk leaves: one for each of its thread blocks.
template <typename Walk>
constexpr std::int64_t flags_of(const DeviceCall& call) {
  return blocks_of(Walk::grid(call));
}

/// All thread blocks of a walk.
template <typename Walk>
struct HotPass {
  static constexpr int kThreads = Walk::kThreads;
  static constexpr int kResident = Walk::kResident;
  static constexpr int kResidentElsewhere = Walk::kResidentElsewhere;
  static constexpr bool kMayGoAhead = Walk::kMayGoAhead;
  static Grid grid(const DeviceCall& call) { return Walk::grid(call); }
  static int shared_bytes(const DeviceCall& call) { return Walk::shared_bytes(call); }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    const Grid grid = Walk::grid(call);
    const bool is_lost = run_walk_block<Walk, false>(lanes, call, at);
    lanes.run([&](int thread) {
      if (thread == 0) {
        call.lost[(at.z * grid.y + at.y) * grid.x + at.x] = is_lost ? 1 : 0;
      }
    });
  }
};

/// Those of some walks again whose flags are set, carefully: a few thread blocks look at all flags, those of one walk
/// behind those of the one before. It takes calls with terms and without.
template <typename First, typename... Others>
struct CarefulPass {
  static constexpr int kThreads = First::kThreads;
  static constexpr std::int64_t kBlocks = 256;
  static Grid grid(const DeviceCall& call) {
    const std::int64_t blocks =
        (parts_of(flags_of<First>(call), kThreads) + ... + parts_of(flags_of<Others>(call), kThreads));
    return {blocks < kBlocks ? blocks : kBlocks, 1, 1};
  }
  static int shared_bytes(const DeviceCall& call) {
    int bytes = First::shared_bytes(call);
    ((bytes = bytes < Others::shared_bytes(call) ? Others::shared_bytes(call) : bytes), ...);
    return bytes;
  }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceCall& call, const Grid& at) {
    Flags flags{call.lost, at.x * kThreads};
    look<First>(lanes, call, flags);
    (look<Others>(lanes, call, flags), ...);
  }

 private:
  /// Those of a walk, and the first one that a thread block looks at.
  struct Flags {
    const std::uint8_t* at;
    std::int64_t first;
  };

  template <typename Walk, typename Lanes>
  static WEFT_DEVICE void look(Lanes& lanes, const DeviceCall& call, Flags& flags) {
    const std::int64_t count = flags_of<Walk>(call);
    WEFT_DEVICE_LOOP
    for (; flags.first < count; flags.first += kBlocks * kThreads) {
      const std::int64_t end = flags.first + kThreads < count ? flags.first + kThreads : count;
      typename Lanes::template Each<bool> is_lost;
      lanes.run(
          [&](int thread) { is_lost[thread] = flags.first + thread < end && flags.at[flags.first + thread] != 0; });
      if (lanes.any(is_lost)) {
        run_again<Walk>(lanes, call, flags, end);
      }
    }
    flags = {flags.at + count, flags.first - parts_of(count, kThreads) * kThreads};
  }
  template <typename Walk, typename Lanes>
  static WEFT_DEVICE void run_again(Lanes& lanes, const DeviceCall& call, const Flags& flags, std::int64_t end) {
    const Grid grid = Walk::grid(call);
    WEFT_DEVICE_LOOP
    for (std::int64_t of = flags.first; of < end; ++of) {
      if (flags.at[of] != 0) {
        run_walk_block<Walk, true>(lanes, call, {of % grid.x, of / grid.x % grid.y, of / grid.x / grid.y});
        lanes.barrier();
      }
    }
  }
};

}  // namespace weft::kernels::cuda
