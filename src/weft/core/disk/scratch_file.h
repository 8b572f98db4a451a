// SPDX-License-Identifier: Apache-2.0
// A file for what does not stay: it has no name, and is gone when it is closed, however the process ends.
#pragma once

#include <filesystem>
#include <string_view>

#include "weft/core/descriptor.h"

namespace weft {

/// Makes a file without a name in temporary_directory(). Messages about it name `shown`, or its first path where that
/// is empty; `content` says in that path what it holds. Errors: kIo naming the folder and TMPDIR where none can be
/// made.
Descriptor scratch_file(std::string_view content, const std::filesystem::path& shown = {});

}  // namespace weft
