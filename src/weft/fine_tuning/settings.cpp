// SPDX-License-Identifier: Apache-2.0
// Defaults, rules between fields, absolute paths.
#include "weft/fine_tuning/settings.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/fine_tuning/objective.h"
#include "weft/formats/json_members.h"
#include "weft/text/utf8.h"
#include "weft/training/run/recorded_path.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using formats::Json;

const TaskEntry* find_task(std::string_view name) {
  const auto table = task_table();
  const auto found = std::find_if(table.begin(), table.end(), [&](const TaskEntry& one) { return one.name == name; });
  return found == table.end() ? nullptr : &*found;
}

// Whether one of the words is `word`.
bool holds_word(std::string_view words, std::string_view word) {
  return concat(" ", words, " ").find(concat(" ", word, " ")) != std::string::npos;
}

// The tasks that read a field which others do not; empty for a field that all read.
std::string tasks_with(std::string_view field) {
  std::vector<std::string_view> tasks;
  for (const TaskEntry& one : task_table()) {
    if (holds_word(one.fields, field)) {
      tasks.push_back(one.name);
    }
  }
  return joined(tasks, " ");
}

void make_paths_absolute(std::vector<std::string>& words) {
  for (std::string& word : words) {
    const DataPath parsed = parse_data_path(word);
    require(text::is_valid_utf8(parsed.label), "the label ", Quoted(parsed.label), " of ", Quoted(parsed.path, 4096),
            " must be UTF-8");
    word = (parsed.labelled ? parsed.label + "=" : "") + training::recorded_path(parsed.path);
  }
}

void check_settings(const RunSettings& settings, std::string_view where) {
  const FineTuningConfig& task = settings.task;
  require(!task.model.empty(), where, ": model must name a directory, found none; weft init makes a new model");
  require(!task.train_data.empty(), where, ": train_data must name a file or folder, found none");
  // Epochs come down to steps, and a run's own training.json has both.
  const bool by_steps = settings.trainer.steps > 0 || task.epochs > 0;
  require(by_steps != (settings.trainer.minutes > 0), where,
          ": one of epochs, steps and minutes must be above 0, found epochs ", task.epochs, ", steps ",
          settings.trainer.steps, " and minutes ", settings.trainer.minutes);
  check_data(task.task, settings.data);
  check_folds(settings.data, where);
  check_config(settings.retrieval, task.task, where);
  require(!is_retrieval_task(task.task) || !distills(settings.distillation), where,
          ": distill is for tasks that choose among labels, and ", task.task, " gives a number; leave it out");
  require(!is_retrieval_task(task.task) || settings.trainer.label_smoothing == 0.0, where,
          ": label_smoothing is for tasks with labels, and ", task.task, " has none; leave it out");
  require(settings.data.folds == 0 || task.eval_data.empty(), where, ": folds hold out a part of train_data, but ",
          "eval_data was given, too");
  require(task.attention.size() <= 1, where, ": attention is one expression for all layers, found ",
          task.attention.size());
}

}  // namespace

std::vector<std::string_view> task_names() {
  std::vector<std::string_view> names;
  for (const TaskEntry& one : task_table()) {
    names.push_back(one.name);
  }
  return names;
}

bool is_fine_tuning_task(std::string_view task) { return find_task(task) != nullptr; }

void check_data(std::string_view task, const DataSettings& data) {
  const TaskEntry* found = find_task(task);
  const std::string_view known = found == nullptr ? "" : found->formats;
  require(holds_word(known, data.format), "format must be one of ", known, " for ", option("task"), " ", task,
          ", found ", data.format);
  const Json usual = formats::to_json(DataSettings());
  const Json given = formats::to_json(data);
  for (const auto& [field, value] : given.items()) {
    const std::string tasks = tasks_with(field);
    require(tasks.empty() || holds_word(tasks, task) || value == usual.at(field), field, " is for ", option("task"),
            " ", tasks, ", found ", task, "; leave it out");
  }
}

void check_folds(const DataSettings& data, std::string_view where) {
  require(data.folds != 1 && data.fold < std::max<std::int64_t>(data.folds, 1), where,
          ": folds must be 0, or 2 and more with fold below it, and fold is 0 without folds; found folds ", data.folds,
          " and fold ", data.fold);
}

Json fine_tuning_defaults() {
  return {{"learning_rate", 5e-5}, {"schedule", "linear"}, {"warmup_ratio", 0.1},
          {"weight_decay", 0.01},  {"beta2", 0.999},       {"batch_size", 32}};
}

Json with_defaults(const Json& fields, std::string_view where) {
  Json all = fine_tuning_defaults();
  all.update(preset_fields(formats::value_or(fields, "preset", where, std::string("none")), fields, where));
  all.update(fields);
  return all;
}

RunSettings make_settings(const Json& fields, std::string_view where) {
  Json all = with_defaults(fields, where);
  RunSettings settings;
  formats::update_from_json(settings.task, formats::only_fields_of<FineTuningConfig>(all), where);
  formats::update_from_json(settings.data, formats::only_fields_of<DataSettings>(all), where);
  formats::update_from_json(settings.retrieval, formats::only_fields_of<RetrievalConfig>(all), where);
  for (const auto& name :
       {formats::to_json(settings.task), formats::to_json(settings.data), formats::to_json(settings.retrieval)}) {
    for (const auto& [key, value] : name.items()) {
      all.erase(key);
    }
  }
  settings.distillation = training::take_distillation(all, where);
  formats::update_from_json(settings.trainer, all, where);
  check_settings(settings, where);
  settings.task = resolved(settings.task);
  settings.data = resolved(settings.data);
  return settings;
}

FineTuningConfig resolved(FineTuningConfig config) {
  config.model = training::recorded_path(config.model);
  make_paths_absolute(config.train_data);
  make_paths_absolute(config.eval_data);
  return config;
}

DataSettings resolved(DataSettings data) {
  data.label_groups = training::recorded_path(data.label_groups);
  return data;
}

DataPath parse_data_path(const std::string& word) {
  std::error_code error;
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || fs::exists(word, error)) {
    return {word, {}, false};
  }
  return {word.substr(equals + 1), word.substr(0, equals), true};
}

namespace {

using formats::Json;

struct Preset {
  std::string_view name;
  std::string_view tasks;  // that it is for
  std::string_view fields;
};

constexpr std::array<Preset, 17> kPresets = {{
    // Devlin et al. 2019, section 4.1: every task of GLUE; the best of 5e-5 to 2e-5 was chosen for each.
    {"bert-glue", "classify", R"({"batch_size": 32, "epochs": 3, "learning_rate": 3e-5})"},
    // Devlin et al. 2019, section 4.2; windows as in the released run_squad.py.
    {"bert-squad", "answer",
     R"({"batch_size": 32, "epochs": 3, "learning_rate": 5e-5, "max_length": 384, "stride": 128})"},
    // Devlin et al. 2019, section 4.3.
    {"bert-squad2", "answer",
     R"({"batch_size": 48, "epochs": 2, "learning_rate": 5e-5, "max_length": 384, "stride": 128})"},
    // Devlin et al. 2019, section 4.4.
    {"bert-swag", "choose", R"({"batch_size": 16, "epochs": 3, "learning_rate": 2e-5})"},
    // The released bigbird/classifier/base_size.sh and the defaults of run_classifier.py: 32 cores with 2 reviews each.
    {"bigbird-imdb", "classify",
     R"({"batch_size": 64, "steps": 16000, "warmup_steps": 1000, "learning_rate": 1e-5, "epsilon": 1e-6,
         "max_length": 4096, "truncate": true})"},
    // Zaheer et al. 2020, table 14: document classification with the base model at 4,096 tokens.
    {"bigbird-arxiv", "classify",
     R"({"batch_size": 64, "epochs": 10, "learning_rate": 3e-5, "max_length": 4096, "truncate": true})"},
    {"bigbird-patents", "classify",
     R"({"batch_size": 64, "epochs": 3, "learning_rate": 5e-5, "max_length": 4096, "truncate": true})"},
    {"bigbird-hyperpartisan", "classify",
     R"({"batch_size": 32, "epochs": 15, "learning_rate": 5e-6, "max_length": 4096, "truncate": true})"},
    {"bigbird-yelp5", "classify",
     R"({"batch_size": 32, "epochs": 2, "learning_rate": 2e-5, "max_length": 4096, "truncate": true})"},
    // Beltagy et al. 2020, appendix, and the defaults of scripts/wikihop.py. Documents that are longer than a row are
    // read in several, as there.
    {"longformer-wikihop", "wikihop",
     R"({"batch_size": 32, "epochs": 15, "warmup_steps": 200, "learning_rate": 3e-5, "beta2": 0.98,
         "max_length": 4096})"},
    // The released command for TriviaQA in scripts/cheatsheet.txt of Longformer's code.
    {"longformer-triviaqa", "triviaqa",
     R"({"batch_size": 8, "epochs": 4, "warmup_steps": 1000, "learning_rate": 3e-5, "max_length": 4096})"},
    // Reimers and Gurevych 2019, section 4.2: the STS benchmark, whose scores go from 0 to 5.
    {"sbert-sts", "embed",
     R"({"batch_size": 16, "epochs": 4, "learning_rate": 2e-5, "warmup_ratio": 0.1, "loss": "cosine", "score_max": 5})"},
    // The model card of all-MiniLM-L6-v2: pairs of texts from many places, 100,000 steps of 1,024.
    {"minilm-pairs", "embed",
     R"({"batch_size": 1024, "steps": 100000, "warmup_steps": 500, "learning_rate": 2e-5, "max_length": 128,
         "truncate": true, "loss": "in-batch"})"},
    // Vaswani et al. 2017, table 3 and section 5: 25,000 tokens a side and 4,000 of 100,000 steps of warm-up.
    {"transformer-base", "translate summarize denoise",
     R"({"d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8,
         "decoder_attention_heads": 8, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "norm_position": "post",
         "dropout": 0.1, "vocabulary_size": 37000, "batch_tokens": 4096, "gradient_accumulation": 6,
         "learning_rate": 7e-4, "schedule": "inverse_sqrt", "warmup_ratio": 0.04, "steps": 100000})"},
    // Weft's own, for tens of thousands of pairs and minutes of training: batches of 1,024 tokens give BLEU 31.1 where
    // as
    // many tokens in batches of 2,048 give 27.5 (29,000 captions, three epochs; bench/RESULTS.md).
    {"transformer-small", "translate summarize denoise",
     R"({"d_model": 192, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
         "decoder_attention_heads": 4, "encoder_ffn_dim": 768, "decoder_ffn_dim": 768, "norm_position": "pre",
         "dropout": 0.1, "vocabulary_size": 4000, "batch_tokens": 1024,
         "learning_rate": 2e-3, "schedule": "linear", "warmup_ratio": 0.06})"},
    // BigBird-Pegasus (Zaheer et al. 2020: sources of 4,096 tokens in blocks of 64) at the size of transformer-base,
    // since the published 16 + 16 layers of width 1,024 are pretrained. Up to 704 tokens are read with full attention,
    // as released: they have no three blocks to draw. No measurement chose these numbers yet.
    {"bigbird-pegasus", "summarize translate denoise",
     R"json({"d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8,
         "decoder_attention_heads": 8, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "norm_position": "pre",
         "activation_function": "gelu_new", "attention_bias": false, "encoder_attention": ["bigbird()"],
         "encoder_full_until": 704, "max_source_positions": 4096, "max_target_positions": 512, "truncate": true,
         "dropout": 0.1, "vocabulary_size": 16000, "batch_tokens": 8192, "gradient_accumulation": 4,
         "gradient_checkpointing": true, "learning_rate": 5e-4, "schedule": "inverse_sqrt", "warmup_ratio": 0.05})json"},
    // LED (Beltagy et al. 2020, section 6: BART with windows and a global first token) at the same size, with half of
    // its window of 1,024. No measurement chose these numbers yet.
    {"led", "summarize translate denoise",
     R"json({"d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8,
         "decoder_attention_heads": 8, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "norm_position": "post",
         "normalize_embedding": true, "activation_function": "gelu", "encoder_attention": ["window(512) | global(1)"],
         "max_source_positions": 16384, "max_target_positions": 1024, "truncate": true,
         "dropout": 0.1, "vocabulary_size": 16000, "batch_tokens": 16384, "gradient_accumulation": 2,
         "gradient_checkpointing": true, "learning_rate": 5e-4, "schedule": "inverse_sqrt", "warmup_ratio": 0.05})json"},
}};

}  // namespace

std::vector<std::string_view> preset_names() {
  std::vector<std::string_view> names = {"none"};
  for (const Preset& preset : kPresets) {
    names.push_back(preset.name);
  }
  return names;
}

Json preset_fields(std::string_view name, const Json& given, std::string_view where) {
  if (name == "none") {
    return Json::object();
  }
  const auto found =
      std::find_if(kPresets.begin(), kPresets.end(), [&](const Preset& preset) { return preset.name == name; });
  require(found != kPresets.end(), "no preset is called ", name);
  const auto task = formats::value_or(given, "task", where, std::string("classify"));
  const std::string tasks = concat(" ", found->tasks, " ");
  require(tasks.find(concat(" ", task, " ")) != std::string::npos, "preset ", name, " is for ", option("task"), tasks,
          "and not for ", task);
  Json fields = Json::parse(found->fields);
  constexpr std::array<const char*, 3> kLengths = {"steps", "epochs", "minutes"};
  if (std::any_of(kLengths.begin(), kLengths.end(), [&](const char* length) { return given.contains(length); })) {
    for (const char* length : kLengths) {
      fields.erase(length);
    }
  }
  // What is given replaces what decides the same: a share of warm-up the preset's steps of it.
  training::TrainerConfig::fields([&](const FieldRule& field) {
    for (const FieldCondition& condition : field.conditions) {
      if (condition.is_negated && given.contains(std::string(field.name))) {
        fields.erase(std::string(condition.fields.front()));
      }
    }
  });
  return fields;
}

}  // namespace weft::fine_tuning
