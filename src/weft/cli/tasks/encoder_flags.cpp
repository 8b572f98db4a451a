// SPDX-License-Identifier: Apache-2.0
// From flags to what a model is opened with.
#include "weft/cli/tasks/encoder_flags.h"

#include "weft/cli/front/field_flags.h"
#include "weft/formats/field_conditions.h"

namespace weft::cli {

void add_encoder_flags(CLI::App& app, EncoderFlags& flags) {
  add_fields<tasks::EncoderRunConfig>(app, {.title = "Model"}, flags.given);
  add_machine_flags(app, flags.machine);
}

std::optional<std::string> first_model_flag(const EncoderFlags& flags) {
  for (const auto& [name, value] : flags.given.items()) {
    if (formats::is_set(value)) {
      return name;
    }
  }
  if (flags.machine.device != MachineFlags().device) {
    return "device";
  }
  return flags.machine.tf32 ? std::optional<std::string>("tf32") : std::nullopt;
}

tasks::EncoderRunConfig encoder_config(const EncoderFlags& flags, const std::string& command) {
  tasks::EncoderRunConfig config;
  formats::update_from_json(config, flags.given, command);
  return config;
}

tasks::EncoderSettings encoder_settings(const EncoderFlags& flags, const std::string& command,
                                        const std::filesystem::path& directory) {
  apply_machine(flags.machine);
  return tasks::encoder_settings(encoder_config(flags, command), directory);
}

tasks::EncoderSettings decoder_settings(const EncoderFlags& flags, const std::string& command,
                                        const std::filesystem::path& directory) {
  apply_machine(flags.machine);
  return tasks::decoder_settings(encoder_config(flags, command), directory);
}

}  // namespace weft::cli
