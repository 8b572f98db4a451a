// SPDX-License-Identifier: Apache-2.0
// Files that a user names, folders among them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft::readers {

/// `paths` in the order given; a folder stands for the regular files below it, sorted by path, hidden files and folders
/// left out and links to folders not followed. Errors: kIo that names the path, when it is missing or cannot be read;
/// kArgument for no path.
std::vector<std::filesystem::path> list_files(const std::vector<std::string>& paths);

}  // namespace weft::readers
