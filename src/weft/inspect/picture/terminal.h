// SPDX-License-Identifier: Apache-2.0
// A picture as text: colours with two cells a character, or shades and letters where there is no colour.
#pragma once

#include <cstdint>
#include <string>

#include "weft/inspect/picture/picture.h"

namespace weft::inspect {

enum class TerminalStyle {
  kColour,   ///< 256 colours and Unicode half blocks: a character is one cell wide and two high
  kUnicode,  ///< shades, two characters a cell: all, some or none of its pairs are edges
  kAscii,    ///< letters by kind of edge: upper case where all pairs are edges, lower where some are
};

/// How many cells a side fit into `width` columns; never more than 96, which is what a person can take in.
std::int64_t cells_in_width(std::int64_t width, TerminalStyle style);

/// The picture with its expression, figures and legend; ends with a new line.
std::string terminal_picture(const Picture& picture, TerminalStyle style);

}  // namespace weft::inspect
