// SPDX-License-Identifier: Apache-2.0
// A file without a name for what does not fit into memory: it is gone with the process, however that ends.
#pragma once

#include <string_view>

#include "weft/core/descriptor.h"

namespace weft::data {

/// Makes a scratch file in the system's folder for temporary files (TMPDIR names another); `content` says in messages
/// what it holds. Errors: kIo.
Descriptor scratch_file(std::string_view content);

}  // namespace weft::data
