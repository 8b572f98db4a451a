// SPDX-License-Identifier: Apache-2.0
// The door to models by name: what a user gave as a model, as a directory of this machine. A directory of that name
// always wins; then the cache, which is asked without any request; then the Hub, unless the environment forbids it.
#pragma once

#include <filesystem>
#include <string>

#include "weft/hub/needed_files.h"

namespace weft::hub {

/// The directory that `given` means. A path, also one where nothing lies, comes back as it is; a name becomes its
/// snapshot in the cache, downloaded first where it is not there. Errors: kIo for a name that is not there and cannot
/// be had, with what to do; those of download_model() and settings_of_environment().
std::filesystem::path local_model(const std::string& given, Need need = Need::kModel);

}  // namespace weft::hub
