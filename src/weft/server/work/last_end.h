// SPDX-License-Identifier: Apache-2.0
// The end of a server whose work does not look at its ticket in time: the process ends without it.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace weft::server {

class LastEnd {
 public:
  LastEnd() = default;
  /// The work has ended: nothing happens any more.
  ~LastEnd();
  LastEnd(const LastEnd&) = delete;
  LastEnd& operator=(const LastEnd&) = delete;

  /// From now on the work has a second; then `before` is called and the process ends with exit code 0. Later calls
  /// change nothing.
  void begin(std::function<void()> before);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace weft::server
