// SPDX-License-Identifier: Apache-2.0
// Which config has which fields.
#include "weft/runs/train/fields.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/system/usage_error.h"
#include "weft/fine_tuning/pairs/pair_config.h"
#include "weft/fine_tuning/settings.h"
#include "weft/formats/field_conditions.h"
#include "weft/formats/json_members.h"
#include "weft/models/transformer_config.h"
#include "weft/training/distillation/config.h"
#include "weft/training/text_config.h"

namespace weft::runs {
namespace {

using fine_tuning::DataSettings;
using fine_tuning::FineTuningConfig;
using fine_tuning::PairConfig;
using fine_tuning::RetrievalConfig;

bool is_field(const std::vector<std::string_view>& fields, std::string_view name) {
  return std::find(fields.begin(), fields.end(), name) != fields.end();
}

// Fields of `Config` that are in none of the other lists, and so are theirs alone.
template <typename Config>
std::vector<std::string_view> new_fields(std::initializer_list<std::vector<std::string_view>> others) {
  std::vector<std::string_view> names = field_names<Config>();
  for (const std::vector<std::string_view>& other : others) {
    std::erase_if(names, [&](std::string_view name) { return is_field(other, name); });
  }
  return names;
}

// Those of an encoder-decoder's shape that a language model does not have.
const std::vector<std::string_view>& whole_pair_shape() {
  static const std::vector<std::string_view> names = new_fields<models::EncoderDecoderConfig>(
      {field_names<models::TransformerConfig>(), field_names<training::TextConfig>(),
       field_names<training::TrainerConfig>(), field_names<FineTuningConfig>(), field_names<DataSettings>(),
       field_names<RetrievalConfig>(), field_names<training::DistillationConfig>()});
  return names;
}

// What translate, summarize and denoise read beside the trainer's fields; the shape may be named as that of a language
// model.
bool is_read_by_pairs(std::string_view name) {
  formats::Json renamed = {{std::string(name), nullptr}};
  fine_tuning::rename_shape_fields(renamed);
  return is_field(field_names<training::TrainerConfig>(), name) || is_field(field_names<PairConfig>(), name) ||
         is_field(field_names<models::EncoderDecoderConfig>(), renamed.begin().key());
}

// The tasks of pairs that read `name`.
std::string tasks_that_read(std::string_view name) {
  std::string tasks = "translate, summarize and denoise";
  PairConfig::fields([&](const FieldRule& field) {
    for (const FieldCondition& condition : field.conditions) {
      if (field.name == name && condition.fields.front() == "task") {
        tasks = alternatives(condition.values);
      }
    }
  });
  return tasks;
}

// A field that a task does not read, given as a flag or in a config file, whose name begins the message then.
class Refusal {
 public:
  Refusal(const std::string& task, const std::string& file) : task_(task), file_(file) {}

  // In a file a value that leaves something off may stand: it asks for nothing.
  bool passes(const formats::Json& value) const { return !file_.empty() && !formats::is_set(value); }
  // "--epochs is for fine-tuning, and not for --task lm", with `whom` "fine-tuning"; without it "--epochs is not for
  // --task lm".
  [[noreturn]] void by_task(std::string_view name, std::string_view whom, const std::string& hint) const {
    by(name,
       concat(whom.empty() ? "is not for " : concat("is for ", whom, ", and not for "), option("task"), " ", task_),
       hint);
  }
  [[noreturn]] void by(std::string_view name, const std::string& reason, const std::string& hint) const {
    if (file_.empty()) {
      throw UsageError(concat(option(name), " ", reason), hint);
    }
    throw Error(ErrorKind::kArgument, concat(quote(file_, 4096), ": ", name, " ", reason), hint);
  }

 private:
  const std::string& task_;
  const std::string& file_;
};

// A pair task reads its own fields only, and no other task reads them.
void check_pair_fields(const std::string& task, const formats::Json& given, const Refusal& refuse) {
  const bool pairs = fine_tuning::is_pair_task(task);
  for (const auto& [name, value] : given.items()) {
    if (refuse.passes(value)) {
      continue;
    }
    if (pairs && task != "denoise" && (name == "train_text" || name == "eval_text")) {
      refuse.by_task(name, "",
                     concat(option("task"), " denoise learns from plain texts; ", option("train_source"), " and ",
                            option("train_target"), " name the texts of ", task));
    }
    if (pairs && !is_read_by_pairs(name)) {
      refuse.by_task(name, "",
                     concat(option("train_source"), " and ", option("train_target"),
                            " name the texts; weft train --help-all lists the flags by task"));
    }
    if (!pairs && (is_field(pair_fields(), name) || is_field(whole_pair_shape(), name))) {
      refuse.by_task(name, tasks_that_read(name), "weft train --help-all lists the flags by task");
    }
  }
}

// Of a model that is fine-tuned: its directory has the shape, and it learns no plain text.
void check_no_text_field(std::string_view name, const Refusal& refuse) {
  if (is_field(field_names<models::TransformerConfig>(), name) || is_field(text_fields(), name)) {
    refuse.by_task(name, "lm and mlm",
                   concat("the directory of ", option("model"), " decides the shape, ", option("train_data"),
                          " names the examples"));
  }
}

}  // namespace

const std::vector<std::string_view>& common_fields() {
  static const std::vector<std::string_view> names = {"task", "attention", "gradient_checkpointing"};
  return names;
}

const std::vector<std::string_view>& pair_fields() {
  static const std::vector<std::string_view> names = new_fields<PairConfig>(
      {field_names<FineTuningConfig>(), field_names<DataSettings>(), field_names<training::TextConfig>()});
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

void tell_stored_settings(const ModelFile& file, const formats::Json& given, const FieldsOfFile& heard) {
  if (!heard || !file.exists()) {
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
  heard(file.path().string(), names);
}

const std::vector<std::string_view>& text_fields() {
  static const std::vector<std::string_view> names = field_names<training::TextConfig>();
  return names;
}

void check_fields_of_task(const std::string& task, const formats::Json& given, bool goes_on, const std::string& file) {
  const Refusal refuse(task, file);
  check_pair_fields(task, given, refuse);
  if (fine_tuning::is_pair_task(task)) {
    return;
  }
  const bool fine = fine_tuning::is_fine_tuning_task(task);
  const std::vector<std::string_view> retrieval = field_names<RetrievalConfig>();
  const std::vector<std::string_view> model = field_names<models::TransformerConfig>();
  std::vector<std::string_view> tuning = field_names<FineTuningConfig>();
  const std::vector<std::string_view> data = field_names<DataSettings>();
  tuning.insert(tuning.end(), data.begin(), data.end());
  for (const auto& [name, value] : given.items()) {
    if (is_field(common_fields(), name) || name == "model" || refuse.passes(value)) {
      continue;
    }
    if (is_field(retrieval, name) && !fine_tuning::is_retrieval_task(task)) {
      refuse.by_task(name, "embed and rerank", "weft train --help-all lists the flags by task");
    }
    if (fine) {
      check_no_text_field(name, refuse);
    } else if (goes_on && is_field(model, name)) {
      refuse.by(name, concat("is for a new model, and ", option("model"), " names one that exists"),
                concat("leave it out: the directory of ", option("model"), " decides the shape"));
    } else if (is_field(tuning, name)) {
      refuse.by_task(name, "fine-tuning",
                     concat("tasks that fine-tune: ", weft::joined(fine_tuning::task_names(), ", ")));
    }
  }
}

}  // namespace weft::runs
