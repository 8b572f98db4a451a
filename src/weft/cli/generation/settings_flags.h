// SPDX-License-Identifier: Apache-2.0
// The flags of every command that generates: the settings of a directory, and what was given over them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "weft/checkpoint/open_model.h"
#include "weft/formats/config_json.h"
#include "weft/generation/settings/generation_config.h"
#include "weft/text/tokenizer.h"

namespace weft::cli {

/// As they were given.
struct GenerationFlags {
  formats::Json given = formats::Json::object();
  bool print_settings = false;
};

/// A flag for each setting, and --print-settings; `flags` outlives the parse.
void add_generation_flags(CLI::App& app, GenerationFlags& flags);

/// The settings of a model directory (generation::read_settings) with the flags over them. A flag says what another
/// setting of the directory means where the two exclude each other: --max-length puts an end to its max_new_tokens,
/// both to its max_new_tokens_per_source, and --num-beams to drawing that only `defaults` asked for. One line on
/// standard error says which flags have no effect. Errors: those of read_settings(); kArgument naming `command`.
generation::GenerationConfig generation_settings(const GenerationFlags& flags, const checkpoint::OpenedModel& directory,
                                                 std::string_view command,
                                                 const generation::GenerationConfig& defaults = {});

/// The settings `config` of a directory with those that `given` names over them, as flags are: a length that is given
/// puts an end to the one that excludes it. Errors: kFormat, kArgument naming `where`.
generation::GenerationConfig settings_over(generation::GenerationConfig config, const formats::Json& given,
                                           std::string_view where);

/// Refuses ids that the model does not have, and lengths that it has no positions for, before weights are read.
/// Errors: kArgument naming the flag, or the file of `directory`, that has the setting.
void check_settings(const generation::GenerationConfig& config, const GenerationFlags& flags,
                    const checkpoint::OpenedModel& directory, std::string_view command);

/// Whether new tokens hold one of these texts, for SearchRequest::stops; nothing where there are none. `tokenizer`
/// outlives it.
std::function<bool(std::span<const std::int64_t> made)> stop_strings(const text::Tokenizer& tokenizer,
                                                                     const std::vector<std::string>& texts);

}  // namespace weft::cli
