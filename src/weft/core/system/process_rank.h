// SPDX-License-Identifier: Apache-2.0
// Which of the processes that work together this one is, for all who speak to the user or write a file once.
#pragma once

#include <cstdint>

namespace weft {

/// 0 for the first one, and for a process that works alone.
std::int64_t process_rank() noexcept;

/// The process that warns, prints and writes for all.
inline bool is_first_process() noexcept { return process_rank() == 0; }

/// While one lives, this process has the rank `rank` among others; behind it, it is alone again.
class RankAmongProcesses {
 public:
  explicit RankAmongProcesses(std::int64_t rank) noexcept;
  ~RankAmongProcesses();
  RankAmongProcesses(const RankAmongProcesses&) = delete;
  RankAmongProcesses& operator=(const RankAmongProcesses&) = delete;
};

}  // namespace weft
