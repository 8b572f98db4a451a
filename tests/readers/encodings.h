// SPDX-License-Identifier: Apache-2.0
// The bytes of a text in the encodings that a file may have.
#pragma once

#include <string>
#include <string_view>

namespace weft::test {

/// UTF-8 as UTF-16 without a mark; `text` must be valid.
inline std::string utf16(std::string_view text, bool big_endian) {
  std::string bytes;
  const auto add = [&](unsigned unit) {
    const char high = static_cast<char>(unit >> 8);
    const char low = static_cast<char>(unit & 0xFF);
    bytes += big_endian ? std::string{high, low} : std::string{low, high};
  };
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    unsigned code = length == 1 ? lead : lead & (0xFFU >> (length + 1));
    for (std::size_t k = 1; k < length; ++k) {
      code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3FU);
    }
    i += length;
    if (code < 0x10000) {
      add(code);
    } else {
      add(0xD800 + ((code - 0x10000) >> 10));
      add(0xDC00 + ((code - 0x10000) & 0x3FF));
    }
  }
  return bytes;
}

/// The same text as a file may hold it: 0 UTF-8, 1 UTF-8 with a mark, 2 UTF-16 of either order with its mark, 3.
constexpr int kEncodings = 4;
inline std::string encoded(const std::string& text, int encoding) {
  switch (encoding) {
    case 1:
      return "\xEF\xBB\xBF" + text;
    case 2:
      return "\xFF\xFE" + utf16(text, false);
    case 3:
      return "\xFE\xFF" + utf16(text, true);
    default:
      return text;
  }
}

}  // namespace weft::test
