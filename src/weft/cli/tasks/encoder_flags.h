// SPDX-License-Identifier: Apache-2.0
// How commands compute with the encoder of a directory: a flag for each field of tasks::EncoderRunConfig,
// threads and the device.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "weft/cli/front/threads.h"
#include "weft/formats/config_json.h"
#include "weft/tasks/encoder_settings.h"

namespace weft::cli {

/// The flags of one command, as they were given.
struct EncoderFlags {
  formats::Json given = formats::Json::object();
  MachineFlags machine;
};

/// Adds all of them, --threads and --device too.
void add_encoder_flags(CLI::App& app, EncoderFlags& flags);

/// The field of a flag that asks for something of a model; nothing where none was given. How many threads there are is
/// nothing of a model alone.
std::optional<std::string> first_model_flag(const EncoderFlags& flags);

/// The fields as the flags have them. Errors: kArgument naming `command`.
tasks::EncoderRunConfig encoder_config(const EncoderFlags& flags, const std::string& command);

/// What the flags amount to for the model in `directory`; also applies threads and device. Errors: those of
/// encoder_config(), training::run_dtype() and apply_machine().
tasks::EncoderSettings encoder_settings(const EncoderFlags& flags, const std::string& command,
                                        const std::filesystem::path& directory);
/// The same for a decoder.
tasks::EncoderSettings decoder_settings(const EncoderFlags& flags, const std::string& command,
                                        const std::filesystem::path& directory);

}  // namespace weft::cli
