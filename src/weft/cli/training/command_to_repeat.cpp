// SPDX-License-Identifier: Apache-2.0
// Flags from the fields that are not what they are by default.
#include "weft/cli/training/command_to_repeat.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/disk/model_file.h"
#include "weft/core/system/option_name.h"
#include "weft/fine_tuning/masked_text/masked_text_run.h"
#include "weft/fine_tuning/pairs/pair_config.h"
#include "weft/fine_tuning/settings.h"
#include "weft/formats/config_json.h"
#include "weft/formats/field_conditions.h"
#include "weft/formats/json_members.h"
#include "weft/models/encoder_decoder_config.h"
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

// Flags of the fields that are neither what they are without a flag nor without a meaning in this run. `usual`: what
// fields are without a flag where that is not the default of `Config`.
template <typename Config>
std::string changed_flags(const Json& fields, const std::vector<std::string_view>& left_out,
                          const Json& usual = Json::object()) {
  Json defaults = formats::to_json(Config());
  defaults.update(formats::only_fields_of<Config>(usual));
  std::string flags;
  Config::fields([&](const FieldRule& field) {
    const std::string name(field.name);
    const auto found = fields.find(name);
    if (found == fields.end() || *found == defaults.at(name) || !formats::conditions_hold(field, fields) ||
        std::find(left_out.begin(), left_out.end(), name) != left_out.end()) {
      return;
    }
    const bool off = found->is_boolean() && *found == Json(false);
    flags += (off ? " --no-" + flag_name(name).substr(2) : " " + flag_name(name)) +
             (found->is_boolean() ? "" : value_words(*found));
  });
  return flags;
}

std::string distillation_flags(const report::RunFigures& run) {
  return changed_flags<training::DistillationConfig>(run.training, {"distill_digest"});
}

// Epochs say how many steps there are.
std::vector<std::string_view> said_otherwise(const report::RunFigures& run) {
  std::vector<std::string_view> names = {"task", "processes"};
  if (formats::value_or(run.training, "epochs", run.where("training.json"), std::int64_t{0}) > 0) {
    names.emplace_back("steps");
  }
  return names;
}

std::string tokenizer_flag(const report::RunFigures& run) {
  if (std::filesystem::exists(run.path / "tokenizer.model")) {
    return " --tokenizer " + shell_word((run.path / "tokenizer.model").string());
  }
  return text::HuggingFaceTokenizer::present_in(run.path) ? " --tokenizer " + shell_word(run.path.string()) : "";
}

// What fields are without a flag, where a task goes on from a model.
Json usual_of_task(const report::RunFigures& run, const std::string& task) {
  if (!fine_tuning::is_fine_tuning_task(task)) {
    return fine_tuning::further_training_defaults();
  }
  const std::string where = run.where("training.json");
  const auto preset = formats::value_or(run.training, "preset", where, std::string("none"));
  Json usual = fine_tuning::with_defaults({{"task", task}, {"preset", preset}}, where);
  usual.erase("preset");  // it is a flag of its own
  return usual;
}

std::string flags_of_task(const report::RunFigures& run, const std::string& task) {
  const std::vector<std::string_view> others = said_otherwise(run);
  const Json usual = usual_of_task(run, task);
  return changed_flags<fine_tuning::FineTuningConfig>(run.training, others, usual) +
         changed_flags<fine_tuning::DataSettings>(run.training, {}, usual) +
         changed_flags<fine_tuning::RetrievalConfig>(run.training, {}) +
         changed_flags<training::TextConfig>(run.training, {}) + distillation_flags(run) +
         changed_flags<training::TrainerConfig>(run.training, others, usual);
}

// The shape and the vocabulary are those of the run. A model that it began with has both; what a flag may change of one
// is not in training.json, and so read from both directories.
std::string flags_of_pair_model(const report::RunFigures& run, const fine_tuning::PairSettings& usual) {
  const std::vector<std::string_view> no_flags = {
      "vocab_size",   "decoder_vocab_size",     "position_offset",    "pad_token_id",   "bos_token_id",
      "eos_token_id", "decoder_start_token_id", "encoder_full_until", "tokenizer_class"};
  Json own = run.model.is_object() ? run.model : Json::object();
  if (usual.pairs.model.empty()) {
    return changed_flags<models::EncoderDecoderConfig>(own, no_flags, formats::to_json(usual.model)) +
           tokenizer_flag(run);
  }
  const ModelFile file(usual.pairs.model, "config.json");
  if (!file.exists()) {
    return {};
  }
  const Json first = formats::read_json_object(file);
  for (const std::string_view name : field_names<models::EncoderDecoderConfig>()) {
    if (!first.contains(std::string(name))) {
      own.erase(std::string(name));
    }
  }
  return changed_flags<models::EncoderDecoderConfig>(own, no_flags, first);
}

// What differs from a run of this preset, or of this model, over the same files.
std::string flags_of_pairs(const report::RunFigures& run) {
  Json fields = {{"steps", 1}};  // or there would be no run
  for (const char* name : {"task", "preset", "model", "train_source", "train_target", "train_data", "train_text"}) {
    if (run.training.contains(name)) {
      fields[name] = run.training.at(name);
    }
  }
  const fine_tuning::PairSettings usual =
      fine_tuning::make_pair_settings(fields, std::nullopt, run.where("training.json"));
  Json trainer = formats::to_json(usual.trainer);
  trainer["steps"] = 0;
  std::vector<std::string_view> others = said_otherwise(run);
  std::string flags = changed_flags<training::TrainerConfig>(run.training, others, trainer);
  others.insert(others.end(), {"vocabulary", "vocabulary_size"});
  return changed_flags<fine_tuning::PairConfig>(run.training, others) + flags + flags_of_pair_model(run, usual);
}

std::string flags_of_new_model(const report::RunFigures& run) {
  const bool encoder =
      run.model.is_object() && !formats::value_or(run.model, "is_decoder", run.where("config.json"), true);
  std::string flags = encoder ? " --encoder" : "";
  flags += changed_flags<training::TrainerConfig>(run.training, {});
  flags += changed_flags<training::TextConfig>(run.training, {});
  flags += distillation_flags(run);
  if (run.model.is_object()) {
    flags += changed_flags<models::TransformerConfig>(run.model,
                                                      {"vocab_size", "tokenizer_class", "is_decoder", "picture_shape"});
  }
  return flags + tokenizer_flag(run);
}

}  // namespace

std::string command_to_repeat(const report::RunFigures& run) {
  const auto task = formats::value_or(run.training, "task", run.where("training.json"), std::string());
  std::string flags = task.empty() ? flags_of_new_model(run) : " --task " + task;
  if (!task.empty()) {
    flags += fine_tuning::is_pair_task(task) ? flags_of_pairs(run) : flags_of_task(run, task);
  }
  return "weft train" + flags + " --out " + shell_word(run.path.string() + "-again");
}

}  // namespace weft::cli
