// SPDX-License-Identifier: Apache-2.0
// The settings that a model directory brings: generation_config.json, or, where there is none, what older directories
// have in config.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "weft/checkpoint/open_model.h"
#include "weft/formats/config_json.h"
#include "weft/generation/settings/generation_config.h"

namespace weft::generation {

/// generation_config.json over the defaults of `transformers`; without that file, the fields of config.json that are
/// settings over `defaults`. Settings that change results and that Weft does not have are refused; a line on standard
/// error names those that nobody knows. Errors: kIo, kFormat; kUnsupported and kArgument naming file and field.
GenerationConfig read_settings(const std::filesystem::path& directory, const GenerationConfig& defaults = {});
GenerationConfig read_settings(const checkpoint::OpenedModel& directory, const GenerationConfig& defaults = {});

/// The file of the directory that read_settings() takes a field from, quoted for errors; the directory where none has
/// it.
std::string file_of_setting(const std::filesystem::path& directory, std::string_view field);

/// Settings as `transformers` writes them -> as the field list has them: no nulls, `early_stopping` as text, one id as
/// a list, words as text. `where` names the file in errors (kFormat).
formats::Json own_form(const formats::Json& json, std::string_view where);

/// The token that a decoder with a source starts with. Errors: kArgument naming `where` when there is none.
std::int64_t start_token(const GenerationConfig& config, std::string_view where);

/// What Weft does with language models of its own, whose directories say nothing about it.
GenerationConfig language_model_defaults();

/// The settings `config` of a directory with those that `given` names over them: a length that is given puts an end to
/// the one that excludes it. Errors: kFormat, kArgument naming `where`.
GenerationConfig settings_over(GenerationConfig config, const formats::Json& given, std::string_view where);

/// Refuses ids that the model of `directory` does not have, and lengths that it has no positions for, before weights
/// are read. Errors: kArgument naming where(field).
void check_settings(const GenerationConfig& config, const checkpoint::OpenedModel& directory,
                    const WhereOfField& where);

}  // namespace weft::generation
