// SPDX-License-Identifier: Apache-2.0
// Which config has which fields.
#include "weft/cli/training/task_flags.h"

#include <algorithm>

#include "weft/cli/front/spoken_flags.h"
#include "weft/core/quote.h"
#include "weft/fine_tuning/pairs/pair_config.h"
#include "weft/fine_tuning/settings.h"
#include "weft/formats/json_members.h"
#include "weft/models/transformer_config.h"
#include "weft/training/distillation/config.h"
#include "weft/training/text_config.h"

namespace weft::cli {
namespace {

using fine_tuning::DataSettings;
using fine_tuning::FineTuningConfig;
using fine_tuning::PairConfig;
using fine_tuning::RetrievalConfig;

bool is_field(const std::vector<std::string_view>& fields, std::string_view name) {
  return std::find(fields.begin(), fields.end(), name) != fields.end();
}

// Fields of `Config` that are in none of the other lists, and so have no flag yet.
template <typename Config>
std::vector<std::string_view> new_fields(std::initializer_list<std::vector<std::string_view>> others) {
  std::vector<std::string_view> names = field_names<Config>();
  for (const std::vector<std::string_view>& other : others) {
    std::erase_if(names, [&](std::string_view name) { return is_field(other, name); });
  }
  return names;
}

const std::vector<std::string_view>& pair_fields() {
  static const std::vector<std::string_view> names =
      new_fields<PairConfig>({field_names<FineTuningConfig>(), field_names<DataSettings>()});
  return names;
}

const std::vector<std::string_view>& pair_shape_fields() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> shape =
        new_fields<models::EncoderDecoderConfig>({field_names<models::TransformerConfig>()});
    // Some follow from the tokeniser, others are those of published families.
    const std::vector<std::string_view> published{"decoder_vocab_size", "position_offset", "attention_bias",
                                                  "encoder_full_until"};
    std::erase_if(shape,
                  [&](std::string_view name) { return name.ends_with("_token_id") || is_field(published, name); });
    return shape;
  }();
  return names;
}

// What translate and summarize read beside the trainer's fields; the shape may be named as that of a language model.
bool is_read_by_pairs(std::string_view name) {
  formats::Json renamed = {{std::string(name), nullptr}};
  fine_tuning::rename_shape_fields(renamed);
  return is_field(field_names<training::TrainerConfig>(), name) || is_field(field_names<PairConfig>(), name) ||
         is_field(field_names<models::EncoderDecoderConfig>(), renamed.begin().key());
}

// A pair task reads its own fields only, and no other task reads them.
void check_pair_flags(const std::string& task, const formats::Json& given) {
  const bool pairs = fine_tuning::is_pair_task(task);
  for (const auto& [name, value] : given.items()) {
    if (pairs && !is_read_by_pairs(name)) {
      throw UsageError(
          concat(flag_name(name), " is not for --task ", task),
          "--train-source and --train-target name the texts; weft train --help-all lists the flags by task");
    }
    if (!pairs && (is_field(pair_fields(), name) || is_field(pair_shape_fields(), name))) {
      throw UsageError(concat(flag_name(name), " is for translate and summarize, and not for --task ", task),
                       "weft train --help-all lists the flags by task");
    }
  }
}

// --task is a flag without a group; the other two are flags of language models, too, and mean the same.
const std::vector<std::string_view> kOwnFlags = {"task", "attention", "gradient_checkpointing"};

}  // namespace

const std::vector<std::string>& task_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"lm", "mlm"};
    for (const std::string_view name : fine_tuning::task_names()) {
      all.emplace_back(name);
    }
    all.insert(all.end(), fine_tuning::kPairTasks.begin(), fine_tuning::kPairTasks.end());
    return all;
  }();
  return names;
}

void note_stored_settings(const ModelFile& file, const formats::Json& given) {
  if (!file.exists()) {
    return;
  }
  const formats::Json stored = formats::read_json_object(file);
  std::vector<std::string> names;
  const auto note = [&](const formats::Json& defaults) {
    for (const auto& [name, value] : defaults.items()) {
      if (stored.contains(name) && stored[name] != value && !given.contains(name)) {
        names.push_back(name);
      }
    }
  };
  note(formats::to_json(training::TrainerConfig()));
  note(formats::to_json(training::TextConfig()));
  note(formats::to_json(FineTuningConfig()));
  note(formats::to_json(DataSettings()));
  note(formats::to_json(RetrievalConfig()));
  note(formats::to_json(PairConfig()));
  note(formats::to_json(training::DistillationConfig()));
  note_config_file(file.path().string(), names);
}

void add_fine_tuning_flags(CLI::App& app, formats::Json& given) {
  add_fields<FineTuningConfig>(
      app,
      {.title = "Fine-tuning (all tasks except lm and mlm; with --model these two begin with that model)",
       .left_out = kOwnFlags},
      given);
  add_fields<DataSettings>(app, {.title = "Examples (all tasks except lm and mlm)"}, given);
  add_fields<RetrievalConfig>(app, {.title = "Embedding and reranking (embed, rerank)"}, given);
}

void add_pair_flags(CLI::App& app, formats::Json& given) {
  add_fields<PairConfig>(app, {.title = "Pairs (translate, summarize)", .only = pair_fields()}, given);
  add_fields<models::EncoderDecoderConfig>(
      app,
      {.title = "Encoder-decoder (translate, summarize; --layers, --width, --heads and --attention, too)",
       .only = pair_shape_fields()},
      given);
}

void add_example_flags(CLI::App& app, formats::Json& given) {
  add_fields<DataSettings>(
      app, {.title = "Examples (all tasks except lm and mlm); without a flag, the value of the training"}, given);
}

std::map<std::string_view, std::string> fine_tuning_remarks() {
  static const formats::Json defaults = fine_tuning::fine_tuning_defaults();
  std::map<std::string_view, std::string> remarks;
  for (const auto& [name, value] : defaults.items()) {
    remarks[name] = (value.is_string()           ? value.get<std::string>()
                     : value.is_number_integer() ? value.dump()
                                                 : short_number(value.get<double>())) +
                    " to fine-tune";
  }
  remarks["batch_size"] += ", where it counts examples";
  remarks["steps"] = "or by --epochs";
  remarks["label_smoothing"] = "over the labels of a classifier";
  return remarks;
}

const std::vector<std::string_view>& text_fields() {
  static const std::vector<std::string_view> names = field_names<training::TextConfig>();
  return names;
}

void check_flags_of_task(const std::string& task, const formats::Json& given) {
  check_pair_flags(task, given);
  if (fine_tuning::is_pair_task(task)) {
    return;
  }
  const bool fine = fine_tuning::is_fine_tuning_task(task);
  const std::vector<std::string_view> retrieval = field_names<RetrievalConfig>();
  const std::vector<std::string_view> model = field_names<models::TransformerConfig>();
  std::vector<std::string_view> tuning = field_names<FineTuningConfig>();
  const std::vector<std::string_view> data = field_names<DataSettings>();
  tuning.insert(tuning.end(), data.begin(), data.end());
  const bool goes_on = given.contains("model");
  for (const auto& [name, value] : given.items()) {
    if (is_field(kOwnFlags, name) || name == "model") {
      continue;
    }
    if (is_field(retrieval, name) && !fine_tuning::is_retrieval_task(task)) {
      throw UsageError(concat(flag_name(name), " is for embed and rerank, and not for --task ", task),
                       "weft train --help-all lists the flags by task");
    }
    if (!fine && goes_on && is_field(model, name)) {
      throw UsageError(flag_name(name) + " is for a new model, and --model names one that exists",
                       "leave it out: the directory of --model decides the shape");
    }
    if (fine && (is_field(model, name) || is_field(text_fields(), name))) {
      throw UsageError(concat(flag_name(name), " is for lm and mlm, and not for --task ", task),
                       "the directory of --model decides the shape, --train-data names the examples");
    }
    if (!fine && is_field(tuning, name)) {
      throw UsageError(concat(flag_name(name), " is for fine-tuning, and not for --task ", task),
                       "--task classify, multilabel, tag, answer, choose, embed and rerank fine-tune");
    }
  }
}

}  // namespace weft::cli
