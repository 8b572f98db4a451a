// SPDX-License-Identifier: Apache-2.0
// Two names for one file, so that a model is on disk once although a checkpoint and its run both have it.
#pragma once

#include <filesystem>

namespace weft {

/// Makes `to` another name of the file `from`, or a copy of it on a file system that has no hard links. `to` is
/// replaced in one step, and no temporary remains, also where `to` is a name of that file already. Errors: kIo.
void replace_by_link(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace weft
