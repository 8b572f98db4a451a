// SPDX-License-Identifier: Apache-2.0
// Text as the reference programs see it, which are written in Python: letters are code points, and words are what lies
// between Unicode's blanks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::metrics {

/// Whether Python's str.split() splits at this code point: Unicode's white space, and the four separators of ASCII.
bool is_blank(char32_t letter) noexcept;

/// A code point and the bytes that it takes.
struct Letter {
  char32_t value = 0;
  std::size_t bytes = 1;
};

/// The code point at the start of `text`, which is not empty; a byte that is no UTF-8 as in code_points().
Letter first_letter(std::string_view text) noexcept;

/// The code points of `text`. A byte that is no UTF-8 is one, 0xDC00 + byte, as Python's "surrogateescape" has it.
std::u32string code_points(std::string_view text);

/// Text between blanks, in order, none of it empty (str.split). The views are into `text`.
std::vector<std::string_view> words_of(std::string_view text);

/// `text` with `to` for each `from`, which is not empty (str.replace).
std::string with_replaced(std::string_view text, std::string_view from, std::string_view to);

/// In lower case by Unicode's full mapping (str.lower). Errors: kArgument for text that is not UTF-8.
std::string lower_case(std::string_view text);

}  // namespace weft::metrics
