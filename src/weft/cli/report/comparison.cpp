// SPDX-License-Identifier: Apache-2.0
// Rows by name over all runs, in the order of the first run that has each.
#include "weft/cli/report/comparison.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "weft/cli/report/figure_groups.h"
#include "weft/cli/report/figure_text.h"
#include "weft/cli/report/run_settings.h"
#include "weft/cli/report/side_by_side.h"
#include "weft/training/best_figure.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;
using formats::Json;

// All names of the objects, and whether a name's values differ.
std::vector<std::string> names_in(const std::vector<Json>& objects) {
  std::vector<std::string> names;
  for (const Json& object : objects) {
    for (const auto& [name, value] : object.items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(name);
      }
    }
  }
  return names;
}

std::vector<Json> values_of(const std::vector<Json>& objects, const std::string& name) {
  std::vector<Json> values;
  for (const Json& object : objects) {
    values.push_back(object.value(name, Json(nullptr)));
  }
  return values;
}

bool all_equal(const std::vector<Json>& values) {
  return std::all_of(values.begin(), values.end(), [&](const Json& value) { return value == values.front(); });
}

// Every setting in the files of a run, used or not.
Json written_settings(const RunFigures& run) {
  Json settings = run.training;
  if (run.model.is_object()) {
    settings.update(run.model);
  }
  return settings;
}

// The runs' paths without the folder that all are in.
std::vector<std::string> headings(const std::vector<RunFigures>& runs) {
  const fs::path parent = runs.front().path.parent_path();
  const bool common = std::all_of(runs.begin(), runs.end(), [&](const RunFigures& run) {
    return run.path.parent_path() == parent && !run.path.filename().empty();
  });
  std::vector<std::string> names;
  for (const RunFigures& run : runs) {
    names.push_back(printable(common ? run.path.filename().string() : run.path.string()));
  }
  return names;
}

// The value to be marked: none where it says nothing to be the best.
std::optional<double> best_of(const std::string& name, const std::vector<Json>& values) {
  std::vector<double> numbers;
  for (const Json& value : values) {
    if (value.is_number()) {
      numbers.push_back(value.get<double>());
    }
  }
  if (numbers.size() < 2) {
    return std::nullopt;
  }
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  return *low == *high ? std::nullopt : std::optional(training::smaller_is_better(name) ? *low : *high);
}

SideBySideRow figure_row(const std::string& name, const std::vector<Json>& values, bool measure) {
  SideBySideRow row{printable(name), {}};
  const std::optional<double> best = measure ? best_of(name, values) : std::nullopt;
  for (const Json& value : values) {
    const bool is_best = best && value.is_number() && value.get<double>() == *best;
    row.cells.push_back(value.is_null() ? "-" : printable(figure_text(name, value)) + (is_best ? " *" : ""));
  }
  return row;
}

// A group of figures over all runs: measures, and of the rest what tells the runs apart.
void add_group(const std::string& title, const std::vector<RunFigures>& runs, std::vector<SideBySideRow>& rows) {
  std::vector<Json> values;
  Json measures = Json::object();
  for (const RunFigures& run : runs) {
    Json of_run = Json::object();
    for (const FigureGroup& group : figure_groups(run)) {
      for (const RunFigure& figure : group.title == title ? group.figures : std::vector<RunFigure>()) {
        of_run[figure.name] = figure.value;
        measures[figure.name] = figure.measure;
      }
    }
    values.push_back(std::move(of_run));
  }
  rows.push_back({title, {}});
  const std::size_t before = rows.size();
  for (const std::string& name : names_in(values)) {
    const bool measure = measures[name].get<bool>();
    const std::vector<Json> of_name = values_of(values, name);
    const bool extent = !measure && title == "evaluation" && name != "after step";
    if (!extent || (name != "time" && !all_equal(of_name))) {
      rows.push_back(figure_row(name, of_name, measure));
    }
  }
  if (rows.size() == before) {
    rows.pop_back();
  }
}

void add_settings(const std::vector<RunFigures>& runs, bool all, std::vector<SideBySideRow>& rows) {
  std::vector<Json> settings;
  for (const RunFigures& run : runs) {
    settings.push_back(settings_of(run));
  }
  rows.push_back({all ? "settings" : "settings that differ", {}});
  const std::size_t before = rows.size();
  for (const std::string& name : names_in(settings)) {
    const std::vector<Json> values = values_of(settings, name);
    if (all || !all_equal(values)) {
      SideBySideRow row{printable(name), {}};
      for (const Json& value : values) {
        row.cells.push_back(printable(setting_text(value)));
      }
      rows.push_back(std::move(row));
    }
  }
  if (rows.size() == before) {
    rows.back().name = "no setting differs";
  }
}

}  // namespace

std::vector<Json> comparison_json(const std::vector<RunFigures>& runs, bool all) {
  std::vector<Json> settings;
  std::vector<Json> objects;
  for (const RunFigures& run : runs) {
    settings.push_back(written_settings(run));
    objects.push_back(summary_json(run));
    objects.back()["settings"] = Json::object();
  }
  for (const std::string& name : names_in(settings)) {
    const std::vector<Json> values = values_of(settings, name);
    for (std::size_t i = 0; i < runs.size() && (all || !all_equal(values)); ++i) {
      objects[i]["settings"][name] = values[i];
    }
  }
  return objects;
}

std::string comparison_text(const std::vector<RunFigures>& runs, bool all, std::int64_t width) {
  std::vector<SideBySideRow> rows;
  for (const char* title : {"training", "evaluation", "best evaluation"}) {
    add_group(title, runs, rows);
  }
  add_settings(runs, all, rows);
  const bool marked = std::any_of(rows.begin(), rows.end(), [](const SideBySideRow& row) {
    return std::any_of(row.cells.begin(), row.cells.end(),
                       [](const std::string& cell) { return cell.ends_with(" *"); });
  });
  return side_by_side(headings(runs), rows, width) + (marked ? "\n* the best of these runs\n" : "");
}

}  // namespace weft::cli
