// SPDX-License-Identifier: Apache-2.0
// The ranges that a lead byte allows for the bytes behind it.
#include "weft/core/utf8_sequence.h"

#include <algorithm>

namespace weft {
namespace {

struct Lead {
  std::size_t length;       // bytes of the sequence, 0 when the byte cannot lead
  unsigned char low, high;  // range of the second byte
};

Lead lead_of(unsigned char byte) noexcept {
  if (byte < 0x80) {
    return {1, 0, 0};
  }
  // 80 to BF only follow; C0 and C1 would be overlong forms of ASCII; F5 and above lie beyond U+10FFFF.
  if (byte < 0xC2 || byte > 0xF4) {
    return {0, 0, 0};
  }
  if (byte < 0xE0) {
    return {2, 0x80, 0xBF};
  }
  if (byte < 0xF0) {
    // E0 excludes overlong forms, ED the surrogates U+D800 to U+DFFF.
    return {3, static_cast<unsigned char>(byte == 0xE0 ? 0xA0 : 0x80),
            static_cast<unsigned char>(byte == 0xED ? 0x9F : 0xBF)};
  }
  // F0 excludes overlong forms, F4 what lies beyond U+10FFFF.
  return {4, static_cast<unsigned char>(byte == 0xF0 ? 0x90 : 0x80),
          static_cast<unsigned char>(byte == 0xF4 ? 0x8F : 0xBF)};
}

// How many bytes at the start of `text` agree with the sequence that its first byte leads; `text` is not empty.
std::size_t agreeing_bytes(std::string_view text, const Lead& lead) noexcept {
  const std::size_t limit = std::min(lead.length, text.size());
  for (std::size_t i = 1; i < limit; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool fits = i == 1 ? byte >= lead.low && byte <= lead.high : (byte & 0xC0) == 0x80;
    if (!fits) {
      return i;
    }
  }
  return limit;
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view text) noexcept {
  if (text.empty()) {
    return 0;
  }
  const Lead lead = lead_of(static_cast<unsigned char>(text[0]));
  return lead.length > 0 && agreeing_bytes(text, lead) == lead.length ? lead.length : 0;
}

std::string with_blanks_for_bytes(std::string_view text) {
  std::string result(text);
  for (std::size_t place = 0; place < result.size();) {
    const std::size_t bytes = utf8_sequence_length(text.substr(place));
    if (bytes == 0) {
      result[place] = ' ';
    }
    place += std::max<std::size_t>(bytes, 1);
  }
  return result;
}

std::size_t visible_length(std::string_view text) noexcept {
  const std::size_t length = utf8_sequence_length(text);
  const auto first = static_cast<unsigned char>(text.empty() ? '\0' : text[0]);
  const bool control = first < 0x20 || first == 0x7F;
  const bool second_control =
      length == 2 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;  // U+0080 to U+009F
  const bool breaks_line = text.starts_with("\u2028") || text.starts_with("\u2029");
  return control || second_control || breaks_line ? 0 : length;
}

bool is_utf8_start(std::string_view text) noexcept {
  if (text.empty()) {
    return false;
  }
  const Lead lead = lead_of(static_cast<unsigned char>(text[0]));
  return lead.length > text.size() && agreeing_bytes(text, lead) == text.size();
}

}  // namespace weft
