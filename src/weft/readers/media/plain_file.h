// SPDX-License-Identifier: Apache-2.0
// Files of pictures and sound are read at any place, which gzip does not allow: such a file is unpacked first.
#pragma once

#include <filesystem>

#include "weft/core/descriptor.h"

namespace weft::readers {

/// The regular file at `path`, or what a gzip file holds, in a file without a name in the system's folder for temporary
/// files. Messages name `path`. Errors: kIo; kFormat as ByteSource for gzip that is damaged and for files that are
/// compressed otherwise.
Descriptor open_plain(const std::filesystem::path& path);

/// `path` without an ending `.gz` in small letters: what the name says of the file inside.
std::filesystem::path unpacked_name(const std::filesystem::path& path);

}  // namespace weft::readers
