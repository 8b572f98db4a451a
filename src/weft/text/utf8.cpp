// SPDX-License-Identifier: Apache-2.0
// Text that may hold any bytes, walked sequence by sequence.
#include "weft/text/utf8.h"

#include <algorithm>

namespace weft::text {

std::size_t valid_utf8_prefix(std::string_view text) noexcept {
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t length = utf8_sequence_length(text.substr(position));
    if (length == 0) {
      break;
    }
    position += length;
  }
  return position;
}

std::size_t incomplete_utf8_tail(std::string_view text) noexcept {
  constexpr std::size_t kLongestTail = 3;
  for (std::size_t tail = 1; tail <= std::min(kLongestTail, text.size()); ++tail) {
    if (is_utf8_start(text.substr(text.size() - tail))) {
      return tail;
    }
  }
  return 0;
}

std::size_t code_point_count(std::string_view text) noexcept { return code_point_offset(text, text.size()); }

std::size_t code_point_offset(std::string_view text, std::size_t byte_offset) noexcept {
  std::size_t count = 0;
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t next = position + std::max<std::size_t>(1, utf8_sequence_length(text.substr(position)));
    if (next > byte_offset) {
      break;
    }
    position = next;
    ++count;
  }
  return count;
}

std::size_t byte_offset(std::string_view text, std::size_t code_point) noexcept {
  std::size_t position = 0;
  for (; code_point > 0 && position < text.size(); --code_point) {
    position += std::max<std::size_t>(1, utf8_sequence_length(text.substr(position)));
  }
  return position;
}

}  // namespace weft::text
