// SPDX-License-Identifier: Apache-2.0
// One number of the whole process, which any thread may read.
#include "weft/core/system/process_rank.h"

#include <atomic>

namespace weft {
namespace {

std::atomic<std::int64_t> rank_of_this{0};

}  // namespace

std::int64_t process_rank() noexcept { return rank_of_this.load(std::memory_order_relaxed); }

RankAmongProcesses::RankAmongProcesses(std::int64_t rank) noexcept {
  rank_of_this.store(rank, std::memory_order_relaxed);
}

RankAmongProcesses::~RankAmongProcesses() { rank_of_this.store(0, std::memory_order_relaxed); }

}  // namespace weft
