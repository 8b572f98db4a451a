// SPDX-License-Identifier: Apache-2.0
// The flags of every command that generates: the settings of a directory, and what was given over them.
#pragma once

#include <string>
#include <string_view>

#include <CLI/App.hpp>

#include "weft/checkpoint/open_model.h"
#include "weft/formats/config_json.h"
#include "weft/generation/settings/generation_config.h"

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

/// generation::check_settings(), in which the flags that were given have the name of `command`.
void check_settings(const generation::GenerationConfig& config, const GenerationFlags& flags,
                    const checkpoint::OpenedModel& directory, std::string_view command);

}  // namespace weft::cli
