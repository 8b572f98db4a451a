// SPDX-License-Identifier: Apache-2.0
// Which figures a reader is shown, and how.
#include "weft/report/figure_text.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string_view>
#include <utility>

#include "weft/core/joined.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/core/text/number_text.h"
#include "weft/formats/json_members.h"
#include "weft/metrics/figures.h"

namespace weft::report {
namespace {

using formats::Json;

std::string short_form(const char* form, double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), form, value);
  return text.data();
}

}  // namespace

std::string figure_text(const std::string& name, const Json& value) {
  if (value.is_null()) {
    return "undefined";
  }
  if ((name == "seconds" || name == "time") && value.is_number()) {
    return duration_text(value.get<double>());
  }
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    return formats::print_json(value);  // no count of a run is as large: shown as it stands in the file
  }
  if (value.is_number_integer()) {
    return digits(value.get<std::int64_t>());
  }
  if (!value.is_number()) {
    return setting_text(value);
  }
  const auto number = value.get<double>();
  const double size = std::abs(number);
  return number == 0 || (size >= 1e-3 && size < 1e5) ? fixed(number, 4) : short_form("%.4g", number);
}

std::string setting_text(const Json& value) {
  if (value.is_string()) {
    return value.get_ref<const std::string&>().empty() ? "none" : value.get<std::string>();
  }
  if (value.is_null()) {
    return "-";
  }
  if (value.is_array()) {
    return value.empty() ? "none" : joined(value, ", ", [](const Json& item) { return setting_text(item); });
  }
  return value.is_number_float() ? short_form("%.6g", value.get<double>()) : formats::print_json(value);
}

std::string printable(const std::string& text) {
  const std::string quoted = quote(text, 4 * text.size() + 16);
  // As quoted, but for the quotes and what only they make necessary: \' and \\ are the letters themselves.
  std::string result;
  for (std::size_t i = 1; i + 1 < quoted.size(); ++i) {
    const bool escape = quoted[i] == '\\' && (quoted[i + 1] == '\'' || quoted[i + 1] == '\\');
    i += escape ? 1 : 0;
    result += quoted[i];
  }
  return result;
}

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
      if (shown && metrics::measures_the_model(name) == measures && !repeats_a_figure(name, run.evaluation)) {
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
                       {formats::value_or(run.best, "metric", run.where("best/best.json"), std::string("figure")),
                        entry_of(run.best, "value"), true}}});
  }
  return groups;
}

}  // namespace weft::report
