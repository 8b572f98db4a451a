// SPDX-License-Identifier: Apache-2.0
// One list of the fields that few tasks read.
#include "weft/cli/report/run_settings.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "weft/cli/fine_tuning/fine_tuning_flags.h"
#include "weft/fine_tuning/settings.h"

namespace weft::cli {
namespace {

using formats::Json;

/// A field, and the tasks that read it with blanks between; every other task passes it over.
struct FieldOfTasks {
  std::string_view field;
  std::string_view tasks;
};
constexpr std::array kFieldsOfTasks = {FieldOfTasks{"text_field", "classify multilabel"},
                                       FieldOfTasks{"pair_field", "classify multilabel"},
                                       FieldOfTasks{"label_field", "classify multilabel"},
                                       FieldOfTasks{"header", "classify multilabel"},
                                       FieldOfTasks{"label_groups", "multilabel"},
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
  const bool text_only = std::find(text_fields().begin(), text_fields().end(), field) != text_fields().end();
  return (found != kFieldsOfTasks.end() && !has_word(found->tasks, task)) ||
         (text_only && fine_tuning::is_fine_tuning_task(task));
}

bool is_zero(const Json& settings, const char* field) {
  const auto found = settings.find(field);
  return found == settings.end() || (found->is_number() && found->get<double>() == 0);
}

// What another field of the same run makes meaningless.
bool is_decided_elsewhere(const std::string& field, const Json& settings) {
  const auto is = [&](const char* name, std::string_view value) {
    const auto found = settings.find(name);
    return found != settings.end() && found->is_string() && found->get_ref<const std::string&>() == value;
  };
  if (field == "beta1" || field == "beta2" || field == "epsilon") {
    return is("optimizer", "adafactor");
  }
  if (field == "relative_steps") {
    return !is("optimizer", "adafactor");
  }
  if (field == "batch_size") {
    return !is_zero(settings, "batch_tokens");
  }
  if (field == "warmup_ratio") {
    return !is_zero(settings, "warmup_steps");
  }
  if (field == "checkpoint_minutes") {
    return !is_zero(settings, "checkpoint_every");
  }
  if (field == "fold") {
    return is_zero(settings, "folds");
  }
  if (field == "rope_theta") {
    return settings.contains("position_embedding") && !is("position_embedding", "rotary");
  }
  constexpr std::array<std::string_view, 5> kNothingAtZero = {"steps", "minutes", "epochs", "batch_tokens",
                                                              "warmup_steps"};
  const bool nothing = std::find(kNothingAtZero.begin(), kNothingAtZero.end(), field) != kNothingAtZero.end();
  return nothing && is_zero(settings, field.c_str());
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

Json model_settings(const RunFigures& run) { return settings_that_count(run.model, task_of(run)); }

Json settings_of(const RunFigures& run) {
  Json settings = training_settings(run);
  settings.update(model_settings(run));
  return settings;
}

}  // namespace weft::cli
