// SPDX-License-Identifier: Apache-2.0
// A message that comes from elsewhere as a whole, another process for instance, made fit to be part of one of ours; and
// text from elsewhere made fit for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace weft {

/// `text` on one line: control characters, line ends and bytes that are not UTF-8 become '?', and what is beyond
/// `maximum_bytes` becomes "...".
std::string one_line(std::string_view text, std::size_t maximum_bytes = 500);

/// `text` of any lines, with control characters but line ends and tabs as \u001b, as JSON escapes them, and with what
/// is no UTF-8 as U+FFFD: a terminal obeys nothing of it.
std::string visible_text(std::string_view text);

/// Bytes at the start of `text` that visible_text() leaves as they are.
std::size_t plain_length(std::string_view text) noexcept;

}  // namespace weft
