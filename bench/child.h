// SPDX-License-Identifier: Apache-2.0
// Work in a process of its own: its peak of resident memory, which the operating system reports, is its alone, and is
// gone with it.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>

namespace weft::bench {

struct ChildRun {
  double number = 0.0;       ///< what the work returned
  double cpu_seconds = 0.0;  ///< of user and system, all threads
  double peak_gb = 0.0;      ///< resident memory, in 10^9 bytes
  bool finished = false;     ///< false where it failed, which is on stderr, or was killed
};

/// Runs `work` in a child and waits for it. Call it before threads are started: a child has none of them.
inline ChildRun in_child(const std::function<double()>& work) {
  int ends[2];
  if (pipe(ends) != 0) {
    return {};
  }
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    try {
      const double number = work();
      _exit(write(ends[1], &number, sizeof(number)) == sizeof(number) ? 0 : 1);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
  }
  close(ends[1]);
  ChildRun result;
  const bool told = read(ends[0], &result.number, sizeof(result.number)) == sizeof(result.number);
  close(ends[0]);
  int status = 0;
  rusage usage{};
  result.finished = child > 0 && wait4(child, &status, 0, &usage) == child && told && status == 0;
  result.cpu_seconds = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                       static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  result.peak_gb = static_cast<double>(usage.ru_maxrss) * 1024.0 / 1e9;
  return result;
}

}  // namespace weft::bench
