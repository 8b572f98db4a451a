// SPDX-License-Identifier: Apache-2.0
// From the entries of the logs to figures in order.
#include "weft/cli/report/figure_groups.h"

#include <array>
#include <string_view>
#include <utility>

#include "weft/training/best_figure.h"

namespace weft::cli {
namespace {

using formats::Json;

// The second says what the first says where their values are equal.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kSameFigures = {
    {{"bits_per_byte", "bits_per_character"}, {"accuracy", "f1_micro"}}};

Json entry_of(const Json& object, const char* name) {
  return object.is_object() ? object.value(name, Json(nullptr)) : Json(nullptr);
}

FigureGroup training_figures(const RunFigures& run) {
  FigureGroup group{"training", {}};
  for (const auto& [shown, name] : {std::pair{"steps", "step"}, {"tokens", "tokens"}, {"time", "seconds"}}) {
    group.figures.push_back({shown, entry_of(run.last, name), false});
  }
  group.figures.push_back({"loss of the last step", entry_of(run.last, "loss"), true});
  return group;
}

FigureGroup evaluation_figures(const RunFigures& run) {
  FigureGroup group{"evaluation", {}};
  group.figures.push_back({"after step", entry_of(run.evaluation, "step"), false});
  for (const bool measures : {true, false}) {
    for (const auto& [name, value] : run.evaluation.items()) {
      const bool shown = name != "step" && (value.is_number() || value.is_null());
      if (shown && training::measures_the_model(name) == measures && !repeats_a_figure(name, run.evaluation)) {
        group.figures.push_back({name == "seconds" ? "time" : name, value, measures});
      }
    }
  }
  return group;
}

}  // namespace

bool repeats_a_figure(const std::string& name, const Json& evaluation) {
  for (const auto& [first, second] : kSameFigures) {
    if (name == second && evaluation.contains(first) && evaluation.contains(name)) {
      return evaluation[std::string(first)] == evaluation[name];
    }
  }
  return false;
}

std::vector<FigureGroup> figure_groups(const RunFigures& run) {
  std::vector<FigureGroup> groups = {training_figures(run)};
  if (run.evaluation.is_object()) {
    groups.push_back(evaluation_figures(run));
  }
  if (run.best.is_object() && entry_of(run.best, "step") != entry_of(run.evaluation, "step")) {
    groups.push_back({"best evaluation",
                      {{"after step", entry_of(run.best, "step"), false},
                       {run.best.value("metric", std::string("figure")), entry_of(run.best, "value"), true}}});
  }
  return groups;
}

}  // namespace weft::cli
