// SPDX-License-Identifier: Apache-2.0
// Paths as a run records them, so that they mean the same wherever it is resumed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft::training {

/// `path` from the root on; an empty one stays empty. Errors: kArgument for a path that is not UTF-8, which no JSON
/// holds: said here, before anything is read.
std::string recorded_path(const std::filesystem::path& path);

/// Each of `paths` as recorded_path() has it.
void record_paths(std::vector<std::string>& paths);

}  // namespace weft::training
