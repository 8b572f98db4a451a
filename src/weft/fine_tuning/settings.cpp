// SPDX-License-Identifier: Apache-2.0
// Defaults, rules between fields, absolute paths.
#include "weft/fine_tuning/settings.h"

#include <algorithm>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/fine_tuning/objective.h"
#include "weft/fine_tuning/presets.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using formats::Json;

const TaskEntry* find_task(std::string_view name) {
  const auto table = task_table();
  const auto found = std::find_if(table.begin(), table.end(), [&](const TaskEntry& one) { return one.name == name; });
  return found == table.end() ? nullptr : &*found;
}

std::string absolute_path(const std::string& path) {
  return path.empty() ? path : fs::absolute(path).lexically_normal().string();
}

void make_paths_absolute(std::vector<std::string>& words) {
  for (std::string& word : words) {
    const DataPath parsed = parse_data_path(word);
    word = (parsed.labelled ? parsed.label + "=" : "") + absolute_path(parsed.path);
  }
}

void check_plan(const Plan& plan, std::string_view where) {
  const FineTuningConfig& task = plan.task;
  require(!task.model.empty(), where, ": model must name a directory, found none; weft init makes one to train anew");
  require(!task.train_data.empty(), where, ": train_data must name a file or folder, found none");
  // Epochs come down to steps, and a run's own training.json has both.
  const bool by_steps = plan.trainer.steps > 0 || task.epochs > 0;
  require(by_steps != (plan.trainer.minutes > 0), where, ": one of epochs, steps and minutes must be above 0, found ",
          "epochs ", task.epochs, ", steps ", plan.trainer.steps, " and minutes ", plan.trainer.minutes);
  check_format(task.task, plan.data);
  check_folds(plan.data, where);
  require(plan.data.folds == 0 || task.eval_data.empty(), where, ": with folds, what is held out is a part of ",
          "train_data, but eval_data was given, too");
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

void check_format(std::string_view task, const DataSettings& data) {
  const TaskEntry* found = find_task(task);
  const std::string known = found == nullptr ? "" : concat(" ", found->formats, " ");
  require(known.find(" " + data.format + " ") != std::string::npos, "format: ", task, " reads ", known, "found ",
          data.format);
}

void check_folds(const DataSettings& data, std::string_view where) {
  require(data.folds != 1 && (data.folds == 0 || data.fold < data.folds), where,
          ": folds must be 0, or 2 and more with fold below it, found folds ", data.folds, " and fold ", data.fold);
}

Json fine_tuning_defaults() {
  return {{"learning_rate", 5e-5}, {"schedule", "linear"}, {"warmup_ratio", 0.1},
          {"weight_decay", 0.01},  {"beta2", 0.999},       {"batch_size", 32}};
}

Plan make_plan(const Json& fields, std::string_view where) {
  Json all = fine_tuning_defaults();
  all.update(preset_fields(fields.value("preset", std::string("none")), fields));
  all.update(fields);
  Plan plan;
  formats::update_from_json(plan.task, formats::only_fields_of<FineTuningConfig>(all), where);
  formats::update_from_json(plan.data, formats::only_fields_of<DataSettings>(all), where);
  for (const auto& name : {formats::to_json(plan.task), formats::to_json(plan.data)}) {
    for (const auto& [key, value] : name.items()) {
      all.erase(key);
    }
  }
  formats::update_from_json(plan.trainer, all, where);
  check_plan(plan, where);
  plan.task = settled(plan.task);
  plan.data = settled(plan.data);
  return plan;
}

FineTuningConfig settled(FineTuningConfig config) {
  config.model = absolute_path(config.model);
  make_paths_absolute(config.train_data);
  make_paths_absolute(config.eval_data);
  return config;
}

DataSettings settled(DataSettings data) {
  data.label_groups = absolute_path(data.label_groups);
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

}  // namespace weft::fine_tuning
