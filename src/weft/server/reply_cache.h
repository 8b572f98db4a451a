// SPDX-License-Identifier: Apache-2.0
// What a server drew once, so that a reader who comes back does not wait again.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace weft::server {

/// Bodies of answers by their questions: both together up to so many bytes, of which the oldest go first. Safe from
/// several threads.
class ReplyCache {
 public:
  explicit ReplyCache(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  std::optional<std::string> find(const std::string& question) const;
  /// An answer that alone is too large is not kept, nor a second one to the same question.
  void keep(const std::string& question, std::string body);

 private:
  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> bodies_;
  std::deque<std::string> order_;
  std::size_t bytes_ = 0;
};

}  // namespace weft::server
