// SPDX-License-Identifier: Apache-2.0
// `weft compare`: runs side by side, a row each: their last figures and the settings in which they differ.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/help.h"
#include "weft/cli/output.h"
#include "weft/cli/report/run_figures.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr std::string_view kRunCompareExamples =
    "  weft compare runs/window runs/bigbird\n"
    "  weft compare runs/* --json";

struct RunCompareOptions {
  std::vector<std::string> runs;
  bool json = false;
};

// Names whose values are not the same in all of `settings`, in the order of the first that has each.
std::vector<std::string> differing(const std::vector<Json>& settings) {
  std::vector<std::string> names;
  for (const Json& one : settings) {
    for (const auto& [name, value] : one.items()) {
      const bool differs = std::any_of(settings.begin(), settings.end(), [&, &key = name](const Json& other) {
        return other.value(key, Json(nullptr)) != settings.front().value(key, Json(nullptr));
      });
      if (differs && std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(name);
      }
    }
  }
  return names;
}

// Training's and the model's settings in one object; no name is in both.
Json settings_of(const RunFigures& run) {
  Json settings = run.training;
  if (run.model.is_object()) {
    settings.update(run.model);
  }
  return settings;
}

std::string cell_text(const Json& value) {
  if (value.is_number_float()) {
    return fixed(value.get<double>(), 4);
  }
  if (value.is_number_integer()) {
    return digits(value.get<std::int64_t>());
  }
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "-" : value.dump();
}

std::vector<Json> comparison(const std::vector<std::string>& paths) {
  std::vector<Json> rows;
  std::vector<Json> settings;
  for (const std::string& path : paths) {
    const RunFigures run = read_run(path);
    rows.push_back(summary_json(run));
    settings.push_back(settings_of(run));
  }
  const std::vector<std::string> names = differing(settings);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i]["settings"] = Json::object();
    for (const std::string& name : names) {
      rows[i]["settings"][name] = settings[i].value(name, Json(nullptr));
    }
  }
  return rows;
}

// One line a row, columns as wide as their longest word.
std::string comparison_table(const std::vector<Json>& rows) {
  std::vector<std::string> names;
  std::vector<Json> flat = rows;
  for (Json& row : flat) {
    const Json settings = row["settings"];
    row.erase("settings");
    row.update(settings);
    for (const auto& [name, value] : row.items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(name);
      }
    }
  }
  std::vector<std::string> lines(flat.size() + 1);
  for (const std::string& name : names) {
    std::vector<std::string> cells = {name};
    for (const Json& row : flat) {
      cells.push_back(cell_text(row.value(name, Json(nullptr))));
    }
    const auto longest =
        std::max_element(cells.begin(), cells.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i] += cells[i] + std::string(longest->size() - cells[i].size() + 2, ' ');
    }
  }
  std::string text;
  for (const std::string& line : lines) {
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

void compare_runs(const RunCompareOptions& options) {
  const std::vector<Json> rows = comparison(options.runs);
  if (options.json) {
    print_json(rows);
  } else {
    std::cout << comparison_table(rows);
  }
}

}  // namespace

void add_compare(CLI::App& parent) {
  auto options = std::make_shared<RunCompareOptions>();
  CLI::App& app = add_command(parent, "compare", std::string(kRunCompareExamples));
  app.add_option("runs", options->runs, "run directories")->required()->option_text("RUN...");
  add_json_flag(app, options->json);
  app.callback([options] { compare_runs(*options); });
}

}  // namespace weft::cli
