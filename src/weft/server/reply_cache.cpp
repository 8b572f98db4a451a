// SPDX-License-Identifier: Apache-2.0
// A reader may ask for many single rows, whose questions are as long as their answers: both count.
#include "weft/server/reply_cache.h"

#include <utility>

namespace weft::server {
namespace {

// A question is there twice: beside its body and in the order.
std::size_t bytes_of_both(const std::string& question, const std::string& body) {
  return 2 * question.size() + body.size();
}

}  // namespace

std::optional<std::string> ReplyCache::find(const std::string& question) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = bodies_.find(question);
  return found == bodies_.end() ? std::nullopt : std::optional<std::string>(found->second);
}

void ReplyCache::keep(const std::string& question, std::string body) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::size_t needed = bytes_of_both(question, body);
  if (needed > most_bytes_ || bodies_.contains(question)) {
    return;
  }
  for (; bytes_ + needed > most_bytes_; order_.pop_front()) {
    const auto oldest = bodies_.find(order_.front());
    bytes_ -= bytes_of_both(oldest->first, oldest->second);
    bodies_.erase(oldest);
  }
  bytes_ += needed;
  order_.push_back(question);
  bodies_.emplace(question, std::move(body));
}

}  // namespace weft::server
