// SPDX-License-Identifier: Apache-2.0
// Figures from the logs; settings by one list of the fields that few tasks read.
#include "weft/report/run_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "weft/core/error.h"
#include "weft/core/fields.h"
#include "weft/core/quote.h"
#include "weft/fine_tuning/pairs/pair_config.h"
#include "weft/fine_tuning/settings.h"
#include "weft/formats/field_conditions.h"
#include "weft/formats/json_lines.h"
#include "weft/formats/json_members.h"
#include "weft/models/transformer_config.h"
#include "weft/training/run/metrics_log.h"
#include "weft/training/text_config.h"

namespace weft::report {
namespace {

namespace fs = std::filesystem;
using formats::Json;

constexpr const char* kBest = "best/best.json";

Json read_if_there(const ModelFile& file) { return file.exists() ? formats::read_json_object(file) : Json(nullptr); }

// Adds the numbers of an entry to the curves of their names; a figure that is null breaks its curve.
void add_points(std::vector<Curve>& curves, const Json& figures, double step) {
  for (const auto& [name, value] : figures.items()) {
    if (name == "step" || name == "time" || !(value.is_number() || value.is_null())) {
      continue;
    }
    auto curve =
        std::find_if(curves.begin(), curves.end(), [&, &key = name](const Curve& known) { return known.name == key; });
    if (curve == curves.end()) {
      curve = curves.insert(curves.end(), Curve{name, {}});
    }
    curve->points.emplace_back(step, value.is_null() ? std::nan("") : value.get<double>());
  }
}

void read_metrics(RunFigures& run) {
  const ModelFile file(run.path, "metrics.jsonl");
  if (!file.exists()) {
    return;
  }
  for (const Json& entry : formats::read_json_lines(file, formats::BrokenLines::kSkip)) {
    const auto step = entry.find("step");
    if (step == entry.end() || !step->is_number()) {
      continue;  // no line of Weft's
    }
    if (training::is_evaluation(entry)) {
      run.evaluation = entry["eval"];
      run.evaluation["step"] = *step;
      add_points(run.evaluated, entry["eval"], step->get<double>());
    } else if (entry.contains("loss")) {  // other entries tell of events
      run.last = entry;
      add_points(run.trained, entry, step->get<double>());
    }
  }
}

}  // namespace

std::string RunFigures::where(const char* file) const { return quote((path / file).native(), 4096); }

RunFigures read_run(const fs::path& run) {
  require(ModelFile(run, "training.json").exists(), Quoted(run.native(), 4096),
          " is no run directory: it has no training.json");
  RunFigures figures;
  figures.path = run.has_filename() ? run : run.parent_path();  // without a slash at its end
  figures.training = formats::read_json_object(ModelFile(run, "training.json"));
  figures.model = read_if_there(ModelFile(run, "config.json"));
  figures.best = read_if_there(ModelFile(run, kBest));
  figures.review = read_if_there(ModelFile(run, "evaluation.json"));
  read_metrics(figures);
  return figures;
}

Json summary_json(const RunFigures& run) {
  Json summary = {
      {"run", run.path.string()}, {"task", task_of(run)}, {"dtype", run.training.value("dtype", Json(nullptr))}};
  for (const auto& [shown, name] :
       {std::pair{"steps", "step"}, {"tokens", "tokens"}, {"seconds", "seconds"}, {"loss", "loss"}}) {
    summary[shown] = run.last.is_object() ? run.last.value(name, Json(nullptr)) : Json(nullptr);
  }
  if (run.evaluation.is_object()) {
    for (const auto& [name, value] : run.evaluation.items()) {
      if (name != "step" && name != "seconds" && !summary.contains("eval " + name)) {
        summary["eval " + name] = value;
      }
    }
  }
  if (run.best.is_object()) {
    const std::string where = run.where(kBest);
    summary["best " + formats::value_of<std::string>(run.best, "metric", where)] =
        formats::value_of<double>(run.best, "value", where);
  }
  return summary;
}

namespace {

/// A field, and the tasks that read it with blanks between; every other task passes it over.
struct FieldOfTasks {
  std::string_view field;
  std::string_view tasks;
};
constexpr std::array kFieldsOfTasks = {FieldOfTasks{"text_field", "classify multilabel embed rerank"},
                                       FieldOfTasks{"pair_field", "classify multilabel embed rerank"},
                                       FieldOfTasks{"label_field", "classify multilabel embed rerank"},
                                       FieldOfTasks{"negative_field", "embed rerank"},
                                       FieldOfTasks{"score_max", "embed rerank"},
                                       FieldOfTasks{"similarity_scale", "embed"},
                                       FieldOfTasks{"symmetric", "embed"},
                                       FieldOfTasks{"matryoshka_dims", "embed"},
                                       FieldOfTasks{"matryoshka_weights", "embed"},
                                       FieldOfTasks{"query_prompt", "embed"},
                                       FieldOfTasks{"document_prompt", "embed"},
                                       FieldOfTasks{"header", "classify multilabel embed rerank"},
                                       FieldOfTasks{"label_groups", "multilabel"},
                                       FieldOfTasks{"both_strands", "multilabel"},
                                       FieldOfTasks{"stride", "tag answer"},
                                       FieldOfTasks{"max_answer_length", "answer"},
                                       FieldOfTasks{"null_threshold", "answer"},
                                       FieldOfTasks{"problem_type", "classify"},
                                       FieldOfTasks{"class_weights", "classify multilabel tag"},
                                       FieldOfTasks{"mask_probability", "mlm"},
                                       FieldOfTasks{"masking", "mlm"},
                                       FieldOfTasks{"span_boundary_objective", "mlm"}};

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const bool begins = at == 0 || words[at - 1] == ' ';
    const std::size_t end = at + word.size();
    if (begins && (end == words.size() || words[end] == ' ')) {
      return true;
    }
  }
  return false;
}

bool is_of_another_task(std::string_view field, const std::string& task) {
  const auto* const found = std::find_if(kFieldsOfTasks.begin(), kFieldsOfTasks.end(),
                                         [&](const FieldOfTasks& one) { return one.field == field; });
  static const std::vector<std::string_view> text_fields = field_names<training::TextConfig>();
  const bool text_only = std::find(text_fields.begin(), text_fields.end(), field) != text_fields.end();
  return (found != kFieldsOfTasks.end() && !has_word(found->tasks, task)) ||
         (text_only && fine_tuning::is_fine_tuning_task(task));
}

// Whether a field of that name in `Configs` has a condition that the run's other fields do not meet.
template <class... Configs>
bool says_nothing(std::string_view name, const Json& settings) {
  bool found = false;
  const auto look = [&](const FieldRule& field) {
    found = found || (field.name == name && !formats::conditions_hold(field, settings));
  };
  (Configs::fields(look), ...);
  return found;
}

// What another field of the same run makes meaningless.
bool is_decided_elsewhere(const std::string& field, const Json& settings) {
  constexpr std::array<std::string_view, 5> kNothingAtZero = {"steps", "minutes", "epochs", "batch_tokens",
                                                              "warmup_steps"};
  const bool nothing = std::find(kNothingAtZero.begin(), kNothingAtZero.end(), field) != kNothingAtZero.end();
  return (nothing && !formats::is_set(settings.at(field))) ||
         says_nothing<training::TrainerConfig, training::TextConfig, fine_tuning::DataSettings, fine_tuning::PairConfig,
                      models::TransformerConfig>(field, settings);
}

// config.json says in what the weights are kept, float32 in every run. A reader looks for what the run computed in,
// which is the dtype of training.json.
void erase_type_of_weights(Json& model) {
  model.erase("dtype");
  model.erase("torch_dtype");
}

Json settings_that_count(const Json& settings, const std::string& task) {
  Json kept = Json::object();
  if (settings.is_object()) {
    for (const auto& [name, value] : settings.items()) {
      if (!is_of_another_task(name, task) && !is_decided_elsewhere(name, settings)) {
        kept[name] = value;
      }
    }
  }
  return kept;
}

}  // namespace

std::string task_of(const RunFigures& run) {
  const auto found = run.training.find("task");
  if (found != run.training.end() && found->is_string() && !found->get_ref<const std::string&>().empty()) {
    return found->get<std::string>();
  }
  const bool has_kind = run.model.is_object() && run.model.contains("is_decoder");
  return has_kind && run.model["is_decoder"] == Json(false) ? "mlm" : "lm";
}

Json training_settings(const RunFigures& run) { return settings_that_count(run.training, task_of(run)); }

Json model_settings(const RunFigures& run) {
  Json settings = settings_that_count(run.model, task_of(run));
  erase_type_of_weights(settings);
  return settings;
}

Json written_settings(const RunFigures& run) {
  Json settings = run.training;
  if (run.model.is_object()) {
    Json model = run.model;
    erase_type_of_weights(model);
    settings.update(model);
  }
  return settings;
}

Json settings_of(const RunFigures& run) {
  Json settings = training_settings(run);
  settings.update(model_settings(run));
  return settings;
}

}  // namespace weft::report
