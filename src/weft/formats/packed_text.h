// SPDX-License-Identifier: Apache-2.0
// Bytes inside a text, as pages of HTML and JSON carry them.
#pragma once

#include <string>
#include <string_view>

namespace weft::formats {

/// RFC 4648, with padding.
std::string base64(std::string_view bytes);

/// The zlib format (RFC 1950), which browsers name "deflate". The same bytes give the same result with one version of
/// zlib.
std::string zlib_compressed(std::string_view bytes);

}  // namespace weft::formats
