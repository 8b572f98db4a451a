// SPDX-License-Identifier: Apache-2.0
// Events as text, one behind the other.
#include "weft/server/event_buffer.h"

#include <utility>

#include "weft/core/error.h"

namespace weft::server {

std::string event_text(std::string_view data, std::string_view name) {
  require(data.find_first_of("\r\n") == std::string_view::npos, "the data of an event must be one line");
  return name.empty() ? concat("data: ", data, "\n\n") : concat("event: ", name, "\ndata: ", data, "\n\n");
}

EventBuffer::Added EventBuffer::add(std::string_view event) {
  const std::lock_guard lock(mutex_);
  if (overflowed_ || text_.size() + event.size() > most_) {
    overflowed_ = true;
    return Added::kRefused;
  }
  const bool first = text_.empty();
  text_ += event;
  return first ? Added::kFirst : Added::kBehind;
}

std::string EventBuffer::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(text_, {});
}

bool EventBuffer::overflowed() const {
  const std::lock_guard lock(mutex_);
  return overflowed_;
}

}  // namespace weft::server
