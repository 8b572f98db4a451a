// SPDX-License-Identifier: Apache-2.0
// A model of Weft's own with other patterns than its config.json has, whose graphs lie beside another file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weft/checkpoint/open_model.h"
#include "weft/models/language_model.h"

namespace weft::checkpoint {

/// As load_model() with LoadOptions::attention; files that the mechanisms name lie below `graphs`. Errors: those of
/// load_model.
models::LanguageModel load_with_attention(const OpenedModel& directory, const std::vector<std::string>& attention,
                                          const std::filesystem::path& graphs);

}  // namespace weft::checkpoint
