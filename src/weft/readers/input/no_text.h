// SPDX-License-Identifier: Apache-2.0
// Files that people give where text is expected and that hold none: tables of other programs, pictures, pointers to
// files that were not fetched.
#pragma once

#include <string>
#include <string_view>

#include "weft/readers/byte_source.h"

namespace weft::readers {

/// Errors: kFormat that names the file, what its first bytes say it is, and what to do, where that is no text. Only the
/// first line is waited for; 64 bytes are looked at where as many came with it, as of a file. Call it before anything
/// is read; read() gives all bytes the same.
void refuse_no_text(ByteSource& bytes);

}  // namespace weft::readers
