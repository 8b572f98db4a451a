// SPDX-License-Identifier: Apache-2.0
// Flags from the fields that are not what they are by default.
#include "weft/cli/training/command_to_repeat.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "weft/core/system/option_name.h"
#include "weft/fine_tuning/settings.h"
#include "weft/formats/config_json.h"
#include "weft/formats/json_members.h"
#include "weft/models/transformer_config.h"
#include "weft/text/hugging_face.h"
#include "weft/training/distillation/config.h"
#include "weft/training/text_config.h"

namespace weft::cli {
namespace {

using formats::Json;

// A word of a shell's command line.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
    return word;
  }
  std::string quoted = "'";
  for (const char byte : word) {
    quoted += byte == '\'' ? "'\\''" : std::string(1, byte);
  }
  return quoted + "'";
}

std::string value_words(const Json& value) {
  if (!value.is_array()) {
    return " " + shell_word(value.is_string() ? value.get<std::string>() : value.dump());
  }
  std::string words;
  for (const Json& item : value) {
    words += value_words(item);
  }
  return words;
}

// Flags of the fields that are not what they are by default; `other_defaults` of a task go first.
template <typename Config>
std::string changed_flags(const Json& fields, const std::vector<std::string>& left_out,
                          const Json& other_defaults = Json::object()) {
  Json defaults = formats::to_json(Config());
  defaults.update(other_defaults);
  std::string flags;
  for (const auto& [name, standard] : defaults.items()) {
    const auto found = fields.find(name);
    if (found == fields.end() || *found == standard ||
        std::find(left_out.begin(), left_out.end(), name) != left_out.end()) {
      continue;
    }
    const bool off = found->is_boolean() && *found == Json(false);
    flags += (off ? " --no-" + flag_name(name).substr(2) : " " + flag_name(name)) +
             (found->is_boolean() ? "" : value_words(*found));
  }
  return flags;
}

std::string distillation_flags(const report::RunFigures& run) {
  return changed_flags<training::DistillationConfig>(run.training, {"distill_digest"});
}

}  // namespace

std::string command_to_repeat(const report::RunFigures& run) {
  std::string command = "weft train";
  const std::string out = " --out " + shell_word(run.path.string() + "-again");
  const std::string where = run.where("training.json");
  if (const auto task = formats::value_or(run.training, "task", where, std::string()); !task.empty()) {
    // Epochs say how many steps there are.
    const bool by_epochs = formats::value_or(run.training, "epochs", where, std::int64_t{0}) > 0;
    std::vector<std::string> left_out = {"task", "processes"};
    left_out.insert(left_out.end(), by_epochs ? 1 : 0, "steps");
    command += " --task " + task + changed_flags<fine_tuning::FineTuningConfig>(run.training, left_out) +
               changed_flags<fine_tuning::DataSettings>(run.training, {}) +
               changed_flags<fine_tuning::RetrievalConfig>(run.training, {}) +
               changed_flags<training::TextConfig>(run.training, {}) + distillation_flags(run);
    return command +
           changed_flags<training::TrainerConfig>(run.training, left_out, fine_tuning::fine_tuning_defaults()) + out;
  }
  const bool encoder =
      run.model.is_object() && !formats::value_or(run.model, "is_decoder", run.where("config.json"), true);
  command += encoder ? " --encoder" : "";
  command += changed_flags<training::TrainerConfig>(run.training, {});
  command += changed_flags<training::TextConfig>(run.training, {});
  command += distillation_flags(run);
  if (run.model.is_object()) {
    command += changed_flags<models::TransformerConfig>(
        run.model, {"vocab_size", "tokenizer_class", "is_decoder", "picture_shape"});
  }
  if (std::filesystem::exists(run.path / "tokenizer.model")) {
    command += " --tokenizer " + shell_word((run.path / "tokenizer.model").string());
  } else if (text::HuggingFaceTokenizer::present_in(run.path)) {
    command += " --tokenizer " + shell_word(run.path.string());
  }
  return command + out;
}

}  // namespace weft::cli
