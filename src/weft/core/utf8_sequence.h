// SPDX-License-Identifier: Apache-2.0
// One UTF-8 sequence by the table of well-formed ones (Unicode 15, table 3-7). text/utf8.h stands on this.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

/// Bytes of the valid sequence at the start of `text` (1 to 4), or 0 when there is none: overlong forms, surrogates and
/// values above U+10FFFF are not valid.
std::size_t utf8_sequence_length(std::string_view text) noexcept;

/// Bytes of the valid sequence at the start of `text`, or 0 also where it is no visible character of a line: a control
/// character or a line end.
std::size_t visible_length(std::string_view text) noexcept;

/// `text` with a blank for each byte that is no UTF-8.
std::string with_blanks_for_bytes(std::string_view text);

/// Whether `text` is the start of a sequence that more bytes could complete.
bool is_utf8_start(std::string_view text) noexcept;

}  // namespace weft
