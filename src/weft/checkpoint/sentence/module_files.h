// SPDX-License-Identifier: Apache-2.0
// The folder of one module of a sentence-transformers directory: config.json, and weights where the kind has any.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "weft/checkpoint/sentence/sentence_modules.h"
#include "weft/checkpoint/sentence/sentence_settings.h"

namespace weft::checkpoint {

/// Whether Weft has modules of that kind behind a transformer.
bool is_module_kind(std::string_view kind);

/// Reads the module below `directory`. Errors: see read_sentence_directory().
SentenceModule read_module(const std::filesystem::path& directory, const ListedModule& listed);

/// Writes the module's files into `folder`, which is made; nothing and no folder for a Normalize. Errors: kIo.
void write_module(const std::filesystem::path& folder, const SentenceModule& module);

/// Numbers of a vector behind `module`, of `width` before it. Errors: kFormat naming `where`, the module and both
/// widths where it takes another one.
std::int64_t width_behind(const SentenceModule& module, std::int64_t width, std::string_view where);

}  // namespace weft::checkpoint
