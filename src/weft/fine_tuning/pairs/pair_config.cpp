// SPDX-License-Identifier: Apache-2.0
// Defaults below preset below what is given; two names for the same shape; files that go together.
#include "weft/fine_tuning/pairs/pair_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>

#include "weft/core/error.h"
#include "weft/formats/json_members.h"
#include "weft/training/resumption.h"
#include "weft/training/run/recorded_path.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

// Pairs up to which transformer-small learns more in the same time: a model of the base size has seen them too often
// before it has learned to translate (Sennrich and Zhang 2019 find the same border between 100,000 and 3 million).
constexpr std::int64_t kSmallData = 300000;

struct OtherName {
  std::string_view given;
  std::vector<std::string_view> fields;
};

const std::vector<OtherName>& other_names() {
  static const std::vector<OtherName> names = {
      {"hidden_size", {"d_model"}},
      {"num_hidden_layers", {"encoder_layers", "decoder_layers"}},
      {"num_attention_heads", {"encoder_attention_heads", "decoder_attention_heads"}},
      {"intermediate_size", {"encoder_ffn_dim", "decoder_ffn_dim"}},
      {"max_position_embeddings", {"max_source_positions", "max_target_positions"}},
      {"hidden_act", {"activation_function"}},
      {"hidden_dropout_prob", {"dropout"}},
      {"attention_probs_dropout_prob", {"attention_dropout"}},
      {"initializer_range", {"init_std"}},
      {"attention", {"encoder_attention"}}};
  return names;
}

// Vaswani et al. 2017, sections 3 and 5, as far as it does not depend on the size; the weight decay is ours.
Json pair_defaults() {
  return {{"beta2", 0.98},
          {"epsilon", 1e-9},
          {"weight_decay", 0.01},
          {"label_smoothing", 0.1},
          {"position_embedding", "sinusoidal"},
          {"scale_embedding", true},
          {"normalize_embedding", false},
          {"activation_function", "relu"}};
}

// Those of further training, with the smoothing of BART's, Pegasus' and LED's papers.
Json further_pair_defaults() {
  Json defaults = fine_tuning_defaults();
  defaults.erase("batch_size");
  defaults["label_smoothing"] = 0.1;
  return defaults;
}

// Plain texts of files, or of the records of tables and JSON.
void check_noise_split(const PairConfig& config, std::string_view where, bool held_out) {
  const auto& [texts, data] =
      held_out ? std::tie(config.eval_text, config.eval_data) : std::tie(config.train_text, config.train_data);
  const std::string split = held_out ? "eval" : "train";
  require(texts.empty() || data.empty(), where, ": give ", split, "_text or ", split, "_data, not both");
  require(held_out || !texts.empty() || !data.empty(), where, ": no text to learn from: give train_text or train_data");
}

void check_noise_files(const PairConfig& config, std::string_view where) {
  for (const auto& [name, paths] : {std::pair("train_source", &config.train_source),
                                    {"train_target", &config.train_target},
                                    {"eval_source", &config.eval_source},
                                    {"eval_target", &config.eval_target},
                                    {"alignments", &config.alignments}}) {
    require(paths->empty(), where, ": ", name, " is for translate and summarize; denoise makes pairs of train_text or ",
            "train_data");
  }
  require(config.target_field.empty() && config.alignment_field.empty(), where, ": ",
          config.target_field.empty() ? "alignment_field" : "target_field",
          " is for translate and summarize; denoise reads source_field alone");
  check_noise_split(config, where, false);
  check_noise_split(config, where, true);
}

// What noise means for other settings.
void check_noise(const PairSettings& settings, std::string_view where) {
  require(settings.trainer.bpe_dropout == 0 && settings.trainer.unigram_alpha == 0, where, ": ",
          settings.trainer.bpe_dropout != 0 ? "bpe_dropout" : "unigram_alpha",
          " cuts texts anew, and denoise hides tokens of texts that are cut once");
}

void check_split(const PairConfig& config, std::string_view where, bool held_out) {
  const auto& [sources, targets, data] = held_out
                                             ? std::tie(config.eval_source, config.eval_target, config.eval_data)
                                             : std::tie(config.train_source, config.train_target, config.train_data);
  const std::string split = held_out ? "eval" : "train";
  require(sources.empty() == targets.empty(), where, ": ", split, "_source and ", split,
          "_target belong together, found only ", split, sources.empty() ? "_target" : "_source");
  require(sources.empty() || data.empty(), where, ": give ", split, "_source with ", split, "_target, or ", split,
          "_data, not both");
  require(held_out || !sources.empty() || !data.empty(), where,
          ": no pairs to learn from: give train_source with train_target, or train_data");
}

}  // namespace

bool is_pair_task(std::string_view task) {
  return std::find(kPairTasks.begin(), kPairTasks.end(), task) != kPairTasks.end();
}

void rename_shape_fields(Json& fields) {
  for (const OtherName& other : other_names()) {
    const auto found = fields.find(std::string(other.given));
    if (found == fields.end()) {
      continue;
    }
    const Json value = std::move(*found);
    fields.erase(found);
    for (const std::string_view name : other.fields) {
      if (!fields.contains(std::string(name))) {
        fields[std::string(name)] = value;
      }
    }
  }
}

std::string_view preset_for(std::int64_t pairs) {
  return pairs <= kSmallData ? "transformer-small" : "transformer-base";
}

bool makes_noise(const PairConfig& config) { return config.task == "denoise"; }

void check_pair_files(const PairConfig& config, std::string_view where) {
  if (makes_noise(config)) {
    check_noise_files(config, where);
    return;
  }
  require(config.train_text.empty() && config.eval_text.empty(), where, ": ",
          config.train_text.empty() ? "eval_text" : "train_text", " is for denoise, and the task is ", config.task);
  check_split(config, where, false);
  check_split(config, where, true);
  require(config.alignments.empty() || !config.train_source.empty(), where,
          ": alignments belong to train_source; those of train_data are in its alignment_field");
  require(config.alignment_field.empty() || !config.train_data.empty(), where,
          ": alignment_field is of train_data; those of train_source are in files, alignments");
}

namespace {

// What a model's directory leaves open. Errors: kArgument for the rest of a shape, which the directory decides.
void check_changes(const Json& fields, std::string_view where) {
  constexpr std::array<std::string_view, 9> kOpen = {"encoder_attention", "decoder_attention", "cross_attention",
                                                     "dropout",           "attention_dropout", "gradient_checkpointing",
                                                     "loss_chunk_size",   "alignment_layer",   "alignment_head"};
  const Json defaults = formats::to_json(PairConfig());
  for (const auto& [name, value] : fields.items()) {
    Json renamed = {{name, value}};
    rename_shape_fields(renamed);
    const bool shape = !formats::only_fields_of<models::EncoderDecoderConfig>(renamed).empty() &&
                       std::find(kOpen.begin(), kOpen.end(), renamed.begin().key()) == kOpen.end();
    const bool other =
        (name == "preset" || name == "vocabulary" || name == "vocabulary_size") && value != defaults[name];
    require(!shape && !other, where, ": ", name,
            " is for random weights, but model names a directory, which decides it");
  }
}

// The defaults and the preset below `fields`, which have the names of this task's fields.
Json all_fields(const Json& fields, std::optional<std::int64_t> pairs, std::string_view where) {
  Json given = fields;
  rename_shape_fields(given);
  if (!formats::value_or(fields, "model", where, std::string()).empty()) {
    check_changes(fields, where);
    Json all = further_pair_defaults();
    all.update(given);
    return all;
  }
  auto preset = formats::value_or(fields, "preset", where, std::string("none"));
  preset = preset == "none" ? std::string(preset_for(pairs.value_or(0))) : preset;
  Json all = pair_defaults();
  all.update(preset_fields(preset, fields, where));
  all.update(given);
  all["preset"] = preset;
  if (!all.contains("init_std")) {
    // Glorot and Bengio's deviation of a square matrix; token embeddings times sqrt(d_model) then have deviation 1.
    all["init_std"] = 1.0 / std::sqrt(static_cast<double>(
                                formats::value_or(all, "d_model", where, models::EncoderDecoderConfig().d_model)));
  }
  return all;
}

// `may_lack_length`: a preset that is not chosen yet may bring it.
void check_run(const PairSettings& settings, bool may_lack_length, std::string_view where) {
  check_pair_files(settings.pairs, where);
  if (makes_noise(settings.pairs)) {
    check_noise(settings, where);
  }
  const bool by_steps = settings.trainer.steps > 0 || settings.pairs.epochs > 0;
  const bool by_minutes = settings.trainer.minutes > 0;
  require(by_steps != by_minutes || (may_lack_length && !by_steps), where,
          ": one of epochs, steps and minutes must be above 0, ", "found epochs ", settings.pairs.epochs, ", steps ",
          settings.trainer.steps, " and minutes ", settings.trainer.minutes);
  training::TrainerConfig trainer = settings.trainer;
  if (trainer.steps == 0 && !by_minutes) {  // as many as epochs will make
    trainer.steps = std::max<std::int64_t>(1, trainer.warmup_steps);
  }
  check_config(trainer, where);
}

}  // namespace

void check_direction(const PairSettings& settings, std::string_view where) {
  const PairConfig& config = settings.pairs;
  if (!settings.model.right_to_left) {
    return;
  }
  require(config.task == "translate" || config.task == "summarize", where, ": right_to_left is for translate and ",
          "summarize, and the task is ", config.task);
  require(config.alignments.empty() && config.alignment_field.empty(), where,
          ": a model that writes from right to left learns no alignments");
  require(settings.trainer.bpe_dropout == 0 && settings.trainer.unigram_alpha == 0, where, ": ",
          settings.trainer.bpe_dropout != 0 ? "bpe_dropout" : "unigram_alpha",
          " is not for models that write from right to left");
}

PairSettings make_pair_settings(const Json& fields, std::optional<std::int64_t> pairs, std::string_view where) {
  Json all = all_fields(fields, pairs, where);
  if (formats::value_or(all, "task", where, std::string()) == "denoise" && !fields.contains("generated_examples")) {
    all["generated_examples"] = 0;  // to write whole texts takes as long as a training
  }
  PairSettings settings;
  formats::update_from_json(settings.pairs, training::take_fields<PairConfig>(all), where);
  formats::update_from_json(settings.model, training::take_fields<models::EncoderDecoderConfig>(all), where);
  if (!settings.pairs.model.empty()) {
    Json given = fields;
    rename_shape_fields(given);
    settings.changes = formats::only_fields_of<models::EncoderDecoderConfig>(given);
  }
  formats::update_from_json(settings.trainer, all, where);
  const bool chosen = pairs.has_value() || !settings.pairs.model.empty() || fields.value("preset", "none") != "none";
  check_direction(settings, where);
  check_run(settings, !chosen, where);
  settings.pairs = resolved(settings.pairs);
  return settings;
}

PairLimits limits_of(const PairConfig& config, const models::EncoderDecoderConfig& model) {
  const auto limit = [](std::int64_t asked, std::int64_t positions) {
    return asked == 0 ? positions : std::min(asked, positions);
  };
  return {limit(config.max_source_length, model.max_source_positions),
          limit(config.max_target_length, model.max_target_positions)};
}

PairConfig resolved(PairConfig config) {
  config.model = training::recorded_path(config.model);
  for (auto* paths :
       {&config.train_source, &config.train_target, &config.eval_source, &config.eval_target, &config.train_data,
        &config.eval_data, &config.alignments, &config.train_text, &config.eval_text}) {
    training::record_paths(*paths);
  }
  return config;
}

}  // namespace weft::fine_tuning
