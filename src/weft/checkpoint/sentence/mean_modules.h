// SPDX-License-Identifier: Apache-2.0
// The mean of the modules of several directories, for the mean of their models.
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "weft/checkpoint/sentence/sentence_directory.h"

namespace weft::checkpoint {

/// The first directory's settings with the means of all directories' Dense and LayerNorm weights; nothing where none
/// has a modules.json. Errors: kArgument where the directories have not the same modules; those of
/// read_sentence_directory().
std::optional<SentenceDirectory> mean_of_modules(std::span<const std::filesystem::path> directories);

}  // namespace weft::checkpoint
