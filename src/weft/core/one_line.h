// SPDX-License-Identifier: Apache-2.0
// A message that comes from elsewhere as a whole, another process for instance, made fit to be part of one of ours.
#pragma once

#include <string>
#include <string_view>

namespace weft {

/// `text` on one line: control characters, line ends and bytes that are not UTF-8 become '?', and what is beyond
/// `maximum_bytes` becomes "...".
std::string one_line(std::string_view text, std::size_t maximum_bytes = 500);

}  // namespace weft
