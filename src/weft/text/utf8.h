// SPDX-License-Identifier: Apache-2.0
// UTF-8 as bytes that may be anything: validation, sequences cut at the end of a stream, and offsets in code points. A
// byte that is not part of valid UTF-8 counts as one code point, so that offsets stay right in any input.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weft/core/utf8_sequence.h"

namespace weft::text {

using weft::utf8_sequence_length;

/// U+FFFD, which stands for bytes that are no character.
inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// `text` with U+FFFD for each byte that is no UTF-8.
std::string with_replacements(std::string_view text);

/// The offset of the first byte that is not valid UTF-8, or text.size().
std::size_t valid_utf8_prefix(std::string_view text) noexcept;
inline bool is_valid_utf8(std::string_view text) noexcept { return valid_utf8_prefix(text) == text.size(); }

/// How many bytes at the end of `text` begin a sequence that more bytes could complete (0 to 3).
std::size_t incomplete_utf8_tail(std::string_view text) noexcept;

/// Code points in `text`.
std::size_t code_point_count(std::string_view text) noexcept;
/// The code point that the byte at `byte_offset` belongs to; text.size() and beyond give the count.
std::size_t code_point_offset(std::string_view text, std::size_t byte_offset) noexcept;
/// The first byte of code point number `code_point`, or text.size().
std::size_t byte_offset(std::string_view text, std::size_t code_point) noexcept;

/// `text` without the white space at its beginning or end: what Python's str.strip() takes for such, in any language.
std::string_view strip_left(std::string_view text) noexcept;
std::string_view strip_right(std::string_view text) noexcept;

}  // namespace weft::text
