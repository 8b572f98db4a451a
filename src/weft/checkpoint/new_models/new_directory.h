// SPDX-License-Identifier: Apache-2.0
// Model directories that are made out of others or anew: never over one that is there, and with a tokeniser that fits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace weft::checkpoint {

/// Errors: kArgument where `out` already holds a model, or is no directory: nothing is overwritten.
void require_no_model(const std::filesystem::path& out);

/// Sets model_max_length of `directory`/tokenizer_config.json to `length`, and where no tokeniser class is named the
/// one of `family` (may be empty), for transformers to find it beside a config of another family. Does
/// nothing in a directory without a tokeniser. Errors: kIo, kFormat.
void fit_tokenizer(const std::filesystem::path& directory, std::int64_t length, const std::string& family);

}  // namespace weft::checkpoint
