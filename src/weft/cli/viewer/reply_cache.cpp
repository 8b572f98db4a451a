// SPDX-License-Identifier: Apache-2.0
// Questions are short; bodies are what counts.
#include "weft/cli/viewer/reply_cache.h"

#include <utility>

namespace weft::cli {

std::optional<std::string> ReplyCache::find(const std::string& question) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = bodies_.find(question);
  return found == bodies_.end() ? std::nullopt : std::optional<std::string>(found->second);
}

void ReplyCache::keep(const std::string& question, std::string body) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (body.size() > most_bytes_ || bodies_.contains(question)) {
    return;
  }
  for (; bytes_ + body.size() > most_bytes_; order_.pop_front()) {
    const auto oldest = bodies_.find(order_.front());
    bytes_ -= oldest->second.size();
    bodies_.erase(oldest);
  }
  bytes_ += body.size();
  order_.push_back(question);
  bodies_.emplace(question, std::move(body));
}

}  // namespace weft::cli
