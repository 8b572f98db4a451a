// SPDX-License-Identifier: Apache-2.0
// Character by character, so that the cut leaves no half of one.
#include "weft/core/one_line.h"

#include <algorithm>

#include "weft/core/utf8_sequence.h"

namespace weft {
namespace {

// Bytes of the character at the start of `text` that a terminal only draws, or 0.
std::size_t drawn_length(std::string_view text) {
  const std::size_t length = utf8_sequence_length(text);
  const auto first = static_cast<unsigned char>(text[0]);
  const bool control = first < 0x20 || first == 0x7F;
  const bool second_control = length == 2 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
  const bool breaks_line = text.starts_with("\u2028") || text.starts_with("\u2029");
  return control || second_control || breaks_line ? 0 : length;
}

}  // namespace

std::string one_line(std::string_view text, std::size_t maximum_bytes) {
  std::string line;
  while (!text.empty()) {
    const std::size_t length = drawn_length(text);
    if (line.size() + std::max<std::size_t>(length, 1) > maximum_bytes) {
      return line + "...";
    }
    line += length > 0 ? text.substr(0, length) : "?";
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return line;
}

}  // namespace weft
