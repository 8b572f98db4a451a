// SPDX-License-Identifier: Apache-2.0
// JSON as Python writes it: NaN, Infinity and -Infinity are numbers.
#pragma once

#include <string>
#include <string_view>

#include "weft/formats/config_json.h"

namespace weft::formats {

/// parse_json() with these numbers, for files of other people's programs, as read_json() reads them. Bytes in messages
/// are those of `text`.
Json parse_python_json(std::string text, std::string_view where, int maximum_depth = 64);

}  // namespace weft::formats
