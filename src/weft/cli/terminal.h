// SPDX-License-Identifier: Apache-2.0
// What stdout can show: its width, colours, Unicode.
#pragma once

#include <cstdint>

#include "weft/pattern/picture/terminal.h"

namespace weft::cli {

/// Columns of stdout's terminal, else COLUMNS, else `otherwise`.
std::int64_t terminal_width(std::int64_t otherwise = 80);

/// Colour on a terminal unless NO_COLOR is set or TERM is dumb; else Unicode where the locale is UTF-8; else ASCII.
pattern::TerminalStyle terminal_style();

}  // namespace weft::cli
