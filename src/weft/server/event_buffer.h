// SPDX-License-Identifier: Apache-2.0
// Server-sent events between the thread that computes and the one that writes them to a client. The computing thread
// never waits for a client: one that does not read falls behind until its work is stopped.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace weft::server {

/// An event as it is sent; `data` is one line. Without a name it is a "message", as browsers call it.
std::string event_text(std::string_view data, std::string_view name = {});

/// Events on their way. Safe from several threads.
class EventBuffer {
 public:
  /// Takes at most `most` bytes that nobody has taken out yet.
  explicit EventBuffer(std::size_t most) : most_(most) {}

  enum class Added {
    kFirst,    ///< the buffer was empty: somebody may be waiting for it
    kBehind,   ///< behind others
    kRefused,  ///< there is no room, or there was none before
  };
  Added add(std::string_view event);
  /// Everything that is there.
  std::string take();
  /// Whether an event found no room.
  bool overflowed() const;

 private:
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::string text_;
  bool overflowed_ = false;
};

}  // namespace weft::server
