// SPDX-License-Identifier: Apache-2.0
// NamedValues by name over all runs, in the order of the first run that has each.
#include "weft/report/comparison.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/fine_tuning/settings.h"
#include "weft/metrics/figures.h"
#include "weft/report/figure_text.h"
#include "weft/report/run_figures.h"
#include "weft/text/utf8.h"

namespace weft::report {
namespace {

namespace fs = std::filesystem;

// The figure that a row of the comparison shows.
std::string_view measured_figure(std::string_view title) { return title == "loss of the last step" ? "loss" : title; }
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
  values.reserve(objects.size());
  for (const Json& object : objects) {
    values.push_back(object.value(name, Json(nullptr)));
  }
  return values;
}

bool all_equal(const std::vector<Json>& values) {
  return std::all_of(values.begin(), values.end(), [&](const Json& value) { return value == values.front(); });
}

// The runs' paths without the folder that all are in.
std::vector<std::string> headings(const std::vector<RunFigures>& runs) {
  const fs::path parent = runs.front().path.parent_path();
  const bool common = std::all_of(runs.begin(), runs.end(), [&](const RunFigures& run) {
    return run.path.parent_path() == parent && !run.path.filename().empty();
  });
  std::vector<std::string> names;
  names.reserve(runs.size());
  for (const RunFigures& run : runs) {
    names.push_back(printable(common ? run.path.filename().string() : run.path.string()));
  }
  return names;
}

// What a figure of a run can be compared by: one of another yardstick measures something else, and neither is better.
std::string yardstick(const RunFigures& run, const std::string& title, const std::string& figure) {
  const std::string task = task_of(run);
  Json of = {task};
  const auto add = [&of](const Json& settings, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      of.push_back(settings.is_object() ? settings.value(name, Json(nullptr)) : Json(nullptr));
    }
  };
  const bool by_folds = run.training.value("folds", Json(0)) != Json(0);
  if (title == "training" || by_folds) {
    add(run.training, {"train_text", "train_images", "train_audio", "train_data", "train_source", "train_target"});
  }
  if (title != "training") {
    add(run.training, {"eval_text", "eval_images", "eval_audio", "eval_data", "eval_source", "eval_target",
                       "max_eval_bytes", "folds", "fold"});
  }
  if (task == "mlm") {
    add(run.training, {"mask_probability", "masking"});
  }
  // Nats a token: other tokens, other nats.
  const bool by_token = measured_figure(figure) == "loss" || figure == "perplexity";
  if (by_token && !fine_tuning::is_fine_tuning_task(task)) {
    add(run.model, {"vocab_size", "tokenizer_class"});
  }
  return of.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The value to be marked among those of one yardstick: none where it says nothing to be the best.
std::optional<double> best_of(const std::string& name, const std::vector<Json>& values,
                              const std::vector<std::string>& yardsticks, const std::string& yardstick) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_number() && yardsticks[i] == yardstick) {
      numbers.push_back(values[i].get<double>());
    }
  }
  if (numbers.size() < 2) {
    return std::nullopt;
  }
  const bool smaller = metrics::figure_kind(measured_figure(name)) == metrics::FigureKind::kSmallerIsBetter;
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  return *low == *high ? std::nullopt : std::optional(smaller ? *low : *high);
}

// `yardsticks` of a measure, one a run; empty for what no run is better by.
SideBySideRow figure_row(const std::string& name, const std::vector<Json>& values,
                         const std::vector<std::string>& yardsticks) {
  SideBySideRow row{printable(name), {}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Json& value = values[i];
    const auto best = yardsticks.empty() ? std::nullopt : best_of(name, values, yardsticks, yardsticks[i]);
    const bool is_best = best && value.is_number() && value.get<double>() == *best;
    row.cells.push_back(value.is_null() ? "-" : printable(figure_text(name, value)) + (is_best ? " *" : ""));
  }
  return row;
}

// One a run, where figures of that name measure the model.
std::vector<std::string> yardsticks_of(const std::vector<RunFigures>& runs, const std::string& title,
                                       const std::string& figure, bool measure) {
  std::vector<std::string> all;
  for (const RunFigures& run : runs) {
    if (measure) {
      all.push_back(yardstick(run, title, figure));
    }
  }
  return all;
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
      rows.push_back(figure_row(name, of_name, yardsticks_of(runs, title, name, measure)));
    }
  }
  if (rows.size() == before) {
    rows.pop_back();
  }
}

void add_settings(const std::vector<RunFigures>& runs, bool all, std::vector<SideBySideRow>& rows) {
  std::vector<Json> settings;
  settings.reserve(runs.size());
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

// What a star means here, or why there is none.
std::string note_on_stars(const std::vector<RunFigures>& runs, const std::vector<SideBySideRow>& rows) {
  const bool marked = std::any_of(rows.begin(), rows.end(), [](const SideBySideRow& row) {
    return std::any_of(row.cells.begin(), row.cells.end(),
                       [](const std::string& cell) { return cell.ends_with(" *"); });
  });
  std::vector<std::string> tasks;
  bool one_measure = true;  // of everything
  for (const RunFigures& run : runs) {
    if (const std::string task = printable(task_of(run)); std::find(tasks.begin(), tasks.end(), task) == tasks.end()) {
      tasks.push_back(task);
    }
    for (const char* title : {"training", "evaluation"}) {
      one_measure = one_measure && yardstick(run, title, "loss") == yardstick(runs.front(), title, "loss");
    }
  }
  if (one_measure) {
    return marked ? "\n* the best of these runs\n" : "";
  }
  const std::string why = tasks.size() > 1 ? concat("these runs have different tasks: ", joined(tasks, ", "))
                                           : std::string("these runs have different data or vocabularies");
  return concat(
      "\n", marked ? "* the best of the runs with one task, data and vocabulary; " : "no best is marked: ", why, "\n");
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
  return side_by_side(headings(runs), rows, width) + note_on_stars(runs, rows);
}

namespace {

constexpr std::size_t kBetween = 2;        // blanks before a column
constexpr std::size_t kWidestColumn = 32;  // of a column: longer cells are broken
constexpr std::size_t kReadable = 16;      // columns are not made narrower than this to have two of them side by side
constexpr std::size_t kNarrowestColumn = 8;

std::size_t columns_of(std::string_view text) { return text::code_point_count(text); }

// `text` in lines of at most `width`: broken after a blank, a comma, a slash or a bar where there is one, else
// anywhere.
std::vector<std::string> broken(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (columns_of(text) > width) {
    const std::size_t most = text::byte_offset(text, width);
    const std::size_t place = text.substr(0, most).find_last_of(" ,/|");
    const std::size_t end = place == std::string_view::npos || place == 0 ? most : place + 1;
    lines.emplace_back(text.substr(0, text.find_last_not_of(' ', end - 1) + 1));
    text.remove_prefix(end);
  }
  lines.emplace_back(text);
  return lines;
}

std::size_t widest_cell(const std::string& heading, const std::vector<SideBySideRow>& rows, std::size_t column) {
  std::size_t width = columns_of(heading);
  for (const SideBySideRow& row : rows) {
    width = row.cells.empty() ? width : std::max(width, columns_of(row.cells[column]));
  }
  return width;
}

void pad(std::string& line, std::size_t width) {
  const std::size_t there = columns_of(line);
  line.append(width > there ? width - there : 0, ' ');
}

// Some neighbouring columns, with the names of the rows before them.
class Table {
 public:
  Table(std::size_t name_width, std::size_t first) : name_width_(name_width), first_(first) {}

  void add_column(std::size_t width) { widths_.push_back(width); }
  std::size_t columns() const { return widths_.size(); }
  std::size_t width() const {
    std::size_t width = name_width_;
    for (const std::size_t column : widths_) {
      width += kBetween + column;
    }
    return width;
  }

  std::string line(const std::string& name, const std::vector<std::string>& cells) const {
    std::vector<std::vector<std::string>> parts;
    std::size_t lines = 1;
    for (std::size_t i = 0; i < widths_.size() && !cells.empty(); ++i) {
      parts.push_back(broken(cells[first_ + i], widths_[i]));
      lines = std::max(lines, parts.back().size());
    }
    std::string text;
    for (std::size_t number = 0; number < lines; ++number) {
      std::string one = number == 0 ? name : "";
      std::size_t place = name_width_;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        pad(one, place + kBetween);
        one += number < parts[i].size() ? parts[i][number] : "";
        place += kBetween + widths_[i];
      }
      text += one.substr(0, one.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
  }

 private:
  std::size_t name_width_;
  std::size_t first_;
  std::vector<std::size_t> widths_;
};

}  // namespace

std::string side_by_side(const std::vector<std::string>& columns, const std::vector<SideBySideRow>& rows,
                         std::int64_t width) {
  std::size_t name_width = 0;
  for (const SideBySideRow& row : rows) {
    name_width = row.cells.empty() ? name_width : std::max(name_width, columns_of(row.name));
  }
  const std::size_t whole = std::max(static_cast<std::size_t>(width), name_width + kBetween + kNarrowestColumn);
  const std::size_t room = whole - name_width;
  const std::size_t two = room / 2 > kBetween ? room / 2 - kBetween : 0;
  const std::size_t widest = std::min({kWidestColumn, room - kBetween, std::max(kReadable, two)});
  std::string text;
  for (std::size_t column = 0; column < columns.size();) {
    Table table(name_width, column);
    while (column < columns.size()) {
      const std::size_t next = std::min(widest, widest_cell(columns[column], rows, column));
      if (table.columns() > 0 && table.width() + kBetween + next > whole) {
        break;
      }
      table.add_column(next);
      ++column;
    }
    text += text.empty() ? "" : "\n";
    text += table.line("", columns);
    for (const SideBySideRow& row : rows) {
      text += table.line(row.name, row.cells);
    }
  }
  return text;
}

}  // namespace weft::report
