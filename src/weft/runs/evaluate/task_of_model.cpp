// SPDX-License-Identifier: Apache-2.0
// A run says its task; a model of other people has a head.
#include "weft/runs/evaluate/task_of_model.h"

#include <algorithm>
#include <filesystem>

#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/open_model.h"
#include "weft/checkpoint/sentence/cross_encoder.h"
#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/system/usage_error.h"
#include "weft/formats/json_members.h"
#include "weft/runs/train/fields.h"
#include "weft/training/run/run_of_model.h"

namespace weft::runs {
namespace {

// One label is a score, unless the model says that it learned to predict numbers.
std::string task_of_labels(const checkpoint::OpenedModel& model) {
  const std::string type = checkpoint::load_encoder_config(model).problem_type;
  if (type == "multi_label_classification") {
    return "multilabel";
  }
  return type != "regression" && checkpoint::is_cross_encoder(model) ? "rerank" : "classify";
}

}  // namespace

std::string task_of_head(const checkpoint::OpenedModel& model) {
  if (!model.can(checkpoint::Ability::kRead)) {
    return {};
  }
  switch (model.head()) {
    case models::Head::kSequenceClassification:
      return task_of_labels(model);
    case models::Head::kTokenClassification:
      return "tag";
    case models::Head::kQuestionAnswering:
      return "answer";
    case models::Head::kMultipleChoice:
      return "choose";
    default:
      return {};
  }
}

std::string learned_task(const std::string& run) {
  const std::filesystem::path directory = training::run_of(run);
  if (directory.empty()) {
    return {};
  }
  const ModelFile file(directory, "training.json");
  const auto task =
      formats::value_or(formats::read_json_object(file), "task", quote(file.path().native(), 4096), std::string());
  const std::vector<std::string>& known = task_names();
  const bool has_examples = std::find(known.begin(), known.end(), task) != known.end() && task != "lm" && task != "mlm";
  return has_examples ? task : std::string();
}

std::string task_of_model(const std::string& run, const checkpoint::ModelOnDemand& on_demand) {
  if (std::string learned = learned_task(run); !learned.empty()) {
    return learned;
  }
  const checkpoint::OpenedModel& model = on_demand.get();
  const std::string name = quote(run, 4096);
  if (model.can(checkpoint::Ability::kWrite)) {
    throw UsageError(concat(name, " holds an encoder-decoder, and does not say what it was trained for"),
                     concat("give ", option("task"), " translate or ", option("task"), " summarize"));
  }
  std::string task = task_of_head(model);
  if (const auto sentence = checkpoint::read_sentence_directory(run)) {
    task = sentence->is_cross_encoder() ? "rerank" : "embed";
  }
  if (task.empty()) {
    throw UsageError(concat(name, " holds a model with no head for labelled examples"),
                     concat("score plain text: weft eval ", name,
                            " --text PATH; or train it: weft train --task TASK --model ", name));
  }
  return task;
}

}  // namespace weft::runs
