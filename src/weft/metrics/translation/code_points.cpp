// SPDX-License-Identifier: Apache-2.0
// Walks UTF-8 once; lower case comes from the crate that text/ stands on.
#include "weft/metrics/translation/code_points.h"

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/utf8_sequence.h"
#include "weft/metrics/crate_functions.h"

namespace weft::metrics {
Letter first_letter(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  const std::size_t bytes = utf8_sequence_length(text);
  if (bytes == 0) {
    return {0xDC00 + byte(0), 1};
  }
  if (bytes == 1) {
    return {byte(0), 1};
  }
  char32_t value = byte(0) & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    value = (value << 6) | (byte(i) & 0x3FU);
  }
  return {value, bytes};
}

bool is_blank(char32_t letter) noexcept {
  if (letter < 0x80) {
    return letter == ' ' || (letter >= 0x09 && letter <= 0x0D) || (letter >= 0x1C && letter <= 0x1F);
  }
  return letter == 0x85 || letter == 0xA0 || letter == 0x1680 || (letter >= 0x2000 && letter <= 0x200A) ||
         letter == 0x2028 || letter == 0x2029 || letter == 0x202F || letter == 0x205F || letter == 0x3000;
}

std::u32string code_points(std::string_view text) {
  std::u32string letters;
  letters.reserve(text.size());
  while (!text.empty()) {
    const Letter letter = first_letter(text);
    letters.push_back(letter.value);
    text.remove_prefix(letter.bytes);
  }
  return letters;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  for (std::size_t place = 0; place < text.size();) {
    const Letter letter = first_letter(text.substr(place));
    if (is_blank(letter.value)) {
      if (place > begin) {
        words.push_back(text.substr(begin, place - begin));
      }
      begin = place + letter.bytes;
    }
    place += letter.bytes;
  }
  if (begin < text.size()) {
    words.push_back(text.substr(begin));
  }
  return words;
}

std::string with_replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  std::size_t begin = 0;
  for (std::size_t found = text.find(from); found != std::string_view::npos; found = text.find(from, begin)) {
    result.append(text, begin, found - begin).append(to);
    begin = found + from.size();
  }
  return result.append(text, begin);
}

std::string lower_case(std::string_view text) {
  return from_crate(weft_lower_case, text, [&](const std::string& problem) {
    fail(ErrorKind::kArgument, "the text ", quote(text), " cannot be written in lower case: ", problem);
  });
}

}  // namespace weft::metrics
