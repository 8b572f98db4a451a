// SPDX-License-Identifier: Apache-2.0
// Which fields are whose.
#include "weft/cli/fine_tuning/fine_tuning_flags.h"

#include <algorithm>

#include "weft/fine_tuning/settings.h"
#include "weft/models/transformer_config.h"

namespace weft::cli {
namespace {

using fine_tuning::DataSettings;
using fine_tuning::FineTuningConfig;

bool is_field(const std::vector<std::string_view>& fields, std::string_view name) {
  return std::find(fields.begin(), fields.end(), name) != fields.end();
}

// The task has a flag of its own; the other two are flags of language models, too, and mean the same.
const std::vector<std::string_view> kOwnFlags = {"task", "attention", "gradient_checkpointing"};

}  // namespace

const std::vector<std::string>& task_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"lm", "mlm"};
    for (const std::string_view name : fine_tuning::task_names()) {
      all.emplace_back(name);
    }
    return all;
  }();
  return names;
}

std::string task_in(const std::filesystem::path& file) {
  const formats::Json json = std::filesystem::exists(file) ? formats::read_json(file) : formats::Json::object();
  const auto found = json.is_object() ? json.find("task") : json.end();
  return json.is_object() && found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void add_fine_tuning_flags(CLI::App& app, formats::Json& given) {
  add_fields<FineTuningConfig>(
      app,
      {.title = "Fine-tuning (all tasks but lm and mlm; with --model these go on from weights that are there)",
       .left_out = kOwnFlags},
      given);
  add_fields<DataSettings>(app, {.title = "Examples (all tasks but lm and mlm)"}, given);
}

void add_example_flags(CLI::App& app, formats::Json& given) {
  add_fields<DataSettings>(app, {.title = "Examples (all tasks but lm); each is as in training where it is not given"},
                           given);
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
  static const std::vector<std::string_view> names = {"train_text",     "eval_text",        "context",
                                                      "max_eval_bytes", "mask_probability", "masking"};
  return names;
}

void check_flags_of_task(const std::string& task, const formats::Json& given) {
  const bool fine = fine_tuning::is_fine_tuning_task(task);
  const std::vector<std::string_view> model = field_names<models::TransformerConfig>();
  std::vector<std::string_view> tuning = field_names<FineTuningConfig>();
  const std::vector<std::string_view> data = field_names<DataSettings>();
  tuning.insert(tuning.end(), data.begin(), data.end());
  const bool goes_on = given.contains("model");
  for (const auto& [name, value] : given.items()) {
    if (is_field(kOwnFlags, name) || name == "model") {
      continue;
    }
    if (!fine && goes_on && is_field(model, name)) {
      throw UsageError(flag_name(name) + " is for a model that begins anew, and --model names one that is there",
                       "the directory of --model decides the shape");
    }
    if (fine && (is_field(model, name) || is_field(text_fields(), name))) {
      throw UsageError(concat(flag_name(name), " is for lm and mlm, and the task is ", task),
                       "the directory of --model decides the shape, --train-data names the examples");
    }
    if (!fine && is_field(tuning, name)) {
      throw UsageError(concat(flag_name(name), " is for fine-tuning, and the task is ", task),
                       "--task names another one");
    }
  }
}

}  // namespace weft::cli
