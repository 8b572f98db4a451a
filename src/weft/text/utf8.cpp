// SPDX-License-Identifier: Apache-2.0
// Text that may hold any bytes, walked sequence by sequence.
#include "weft/text/utf8.h"

#include <algorithm>
#include <iterator>

namespace weft::text {
namespace {

// Bytes of the white space that `text` begins with; 0 for any other character.
std::size_t white_space(std::string_view text) noexcept {
  constexpr std::string_view kWide[] = {"\u0085", "\u00A0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003",
                                        "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200A",
                                        "\u2028", "\u2029", "\u202F", "\u205F", "\u3000"};
  constexpr std::string_view kNarrow = " \t\n\v\f\r\x1C\x1D\x1E\x1F";
  if (text.empty() || kNarrow.find(text.front()) != std::string_view::npos) {
    return text.empty() ? 0 : 1;
  }
  const auto* const found =
      std::find_if(std::begin(kWide), std::end(kWide), [&](std::string_view wide) { return text.starts_with(wide); });
  return found == std::end(kWide) ? 0 : found->size();
}

}  // namespace

std::string with_replacements(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    result += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

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

std::string_view strip_left(std::string_view text) noexcept {
  for (std::size_t length = white_space(text); length > 0; length = white_space(text)) {
    text.remove_prefix(length);
  }
  return text;
}

std::string_view strip_right(std::string_view text) noexcept {
  constexpr std::size_t kWidest = 3;  // bytes of a blank
  for (std::size_t length = 1; length <= std::min(kWidest, text.size());) {
    const bool blank = white_space(text.substr(text.size() - length)) == length;
    text.remove_suffix(blank ? length : 0);
    length = blank ? 1 : length + 1;
  }
  return text;
}

}  // namespace weft::text
