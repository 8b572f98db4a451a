// SPDX-License-Identifier: Apache-2.0
// Character by character, so that the cut leaves no half of one.
#include "weft/core/one_line.h"

#include <algorithm>

#include "weft/core/utf8_sequence.h"

namespace weft {

std::string one_line(std::string_view text, std::size_t maximum_bytes) {
  std::string line;
  while (!text.empty()) {
    const std::size_t length = visible_length(text);
    if (line.size() + std::max<std::size_t>(length, 1) > maximum_bytes) {
      return line + "...";
    }
    line += length > 0 ? text.substr(0, length) : "?";
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return line;
}

}  // namespace weft
