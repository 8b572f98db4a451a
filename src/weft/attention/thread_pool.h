// SPDX-License-Identifier: Apache-2.0
// LibTorch's threads behind the interface that kernels take. It is parallel only in files built with OpenMP, which the
// tests assert: without it at::parallel_for runs serially and says nothing.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>

#include "weft/core/parallel.h"
#include "weft/core/work/pieces.h"

namespace weft::attention {

/// Follows at::get_num_threads().
inline constexpr ParallelFor kTorchThreads{
    [](std::int64_t count, std::int64_t grain, ParallelFor::Body body, void* context) {
      at::parallel_for(0, count, grain,
                       [body, context](std::int64_t begin, std::int64_t end) { body(context, begin, end); });
    },
    [] { return std::int64_t{at::get_num_threads()}; }};

/// How many pieces a call of `operations` operations (a multiplication and an addition are two) is computed in: 1 where
/// nobody watches the work of this thread (core/work/pieces.h), else so many that each takes a few milliseconds.
inline std::int64_t pieces_of_call(double operations) noexcept {
  constexpr double kOperations = 2e8;  // 1 to 4 ms of two cores
  constexpr double kMost = 64;         // a kernel counts the cost of its items once for each piece and thread
  return work_is_watched() ? static_cast<std::int64_t>(std::clamp(operations / kOperations, 1.0, kMost)) : 1;
}

/// The same threads in `Pieces` turns, with the end of a piece behind each. A call whose client has gone leaves out the
/// turns that are left: whoever made it asks nobody_waits() before its results are read.
class ThreadsInPieces {
 public:
  explicit ThreadsInPieces(std::int64_t pieces) noexcept : before_(pieces_of_thread) { pieces_of_thread = pieces; }
  ~ThreadsInPieces() { pieces_of_thread = before_; }
  ThreadsInPieces(const ThreadsInPieces&) = delete;
  ThreadsInPieces& operator=(const ThreadsInPieces&) = delete;

  bool is_cut() const noexcept { return pieces_of_thread > 1; }
  const ParallelFor& threads() const noexcept { return is_cut() ? kInPieces : kTorchThreads; }

 private:
  static void run(std::int64_t count, std::int64_t grain, ParallelFor::Body body, void* context) {
    const std::int64_t pieces = pieces_of_thread;  // other work between two turns has a number of its own
    const std::int64_t turn = std::max<std::int64_t>(1, (count + pieces - 1) / pieces);
    for (std::int64_t begin = 0; begin < count; begin += turn) {
      const std::int64_t end = std::min(count, begin + turn);
      at::parallel_for(begin, end, grain,
                       [body, context](std::int64_t first, std::int64_t last) { body(context, first, last); });
      if (end < count && nobody_waits()) {
        return;
      }
    }
  }
  static std::int64_t shares() { return pieces_of_thread * at::get_num_threads(); }

  static constexpr ParallelFor kInPieces{run, shares};
  static inline thread_local std::int64_t pieces_of_thread = 1;
  std::int64_t before_;
};

}  // namespace weft::attention
