// SPDX-License-Identifier: Apache-2.0
// Whether a process had threads is looked at before it forks: the child cannot know.
#include "threads.h"

#include <dirent.h>
#include <pthread.h>
#include <torch/csrc/stable/ops.h>

#include <atomic>
#include <cstdint>

namespace weft::python {
namespace {

std::atomic<bool> threads_before_fork{false};
std::atomic<bool> threads_are_gone{false};

// "." and ".." are two entries; a process of one thread has one more.
bool has_threads() {
  DIR* const folder = ::opendir("/proc/self/task");
  if (folder == nullptr) {
    return true;
  }
  int entries = 0;
  while (::readdir(folder) != nullptr) {  // NOLINT(concurrency-mt-unsafe): the stream is this function's
    ++entries;
  }
  ::closedir(folder);
  return entries > 3;
}

void before_fork() { threads_before_fork = has_threads(); }
void in_child() { threads_are_gone = threads_are_gone || threads_before_fork; }

const int watched = ::pthread_atfork(before_fork, nullptr, in_child);

constexpr ParallelFor kTorchThreads{
    [](std::int64_t count, std::int64_t grain, ParallelFor::Body body, void* context) {
      torch::stable::parallel_for(0, count, grain,
                                  [body, context](std::int64_t begin, std::int64_t end) { body(context, begin, end); });
    },
    [] { return static_cast<std::int64_t>(torch::stable::get_num_threads()); }};

}  // namespace

const ParallelFor& threads() { return threads_are_gone || watched != 0 ? kSerial : kTorchThreads; }

}  // namespace weft::python
