// SPDX-License-Identifier: Apache-2.0
// Which model a profile is of.
#pragma once

#include <filesystem>
#include <string>

namespace weft::profile {

/// SHA-256, in hexadecimal digits, of config.json and of all files of weights in `directory` itself, names and bytes,
/// sorted by name. Errors: kIo.
std::string model_digest(const std::filesystem::path& directory);

}  // namespace weft::profile
