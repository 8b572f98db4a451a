// SPDX-License-Identifier: Apache-2.0
// Character by character, so that the cut leaves no half of one.
#include "weft/core/one_line.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "weft/core/utf8_sequence.h"

namespace weft {
namespace {

// A valid character of one to three bytes, all that is not visible, as JSON escapes it.
std::string json_escape(std::string_view character) {
  constexpr std::array<unsigned, 4> kLeadBits = {0, 0x7F, 0x1F, 0x0F};
  unsigned code = static_cast<unsigned char>(character[0]) & kLeadBits[std::min<std::size_t>(character.size(), 3)];
  for (const char c : character.substr(1)) {
    code = code << 6U | (static_cast<unsigned char>(c) & 0x3FU);
  }
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "\\u%04x", code);
  return text.data();
}

}  // namespace

std::size_t plain_length(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    const std::size_t length = (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\t' ? 1 : visible_length(text.substr(at));
    if (length == 0) {
      break;
    }
    at += length;
  }
  return at;
}

std::string visible_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t plain = plain_length(text);
    result += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) {
      break;
    }
    const std::size_t length = utf8_sequence_length(text);
    result += length == 0 ? "\xEF\xBF\xBD" : json_escape(text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

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
