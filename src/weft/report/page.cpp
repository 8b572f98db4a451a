// SPDX-License-Identifier: Apache-2.0
// Sections of the page, one function each.
#include "weft/report/page.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/fields.h"
#include "weft/core/text/number_text.h"
#include "weft/core/version.h"
#include "weft/formats/json_members.h"
#include "weft/formats/packed_text.h"
#include "weft/inspect/picture/canvas.h"
#include "weft/inspect/picture/picture.h"
#include "weft/metrics/figures.h"
#include "weft/report/figure_text.h"
#include "weft/report/html.h"
#include "weft/report/run_figures.h"
#include "weft/tasks/card/attention_summary.h"

namespace weft::report {
namespace {

using formats::Json;
constexpr std::int64_t kLongestPicture = 4096;  // positions that a picture shows

std::string final_figures(const RunFigures& run) {
  std::string tables;
  for (const FigureGroup& group : figure_groups(run)) {
    NamedValues rows;
    for (const RunFigure& figure : group.figures) {
      if (!figure.value.is_null() || figure.measure) {
        rows.emplace_back(figure.name, figure_text(figure.name, figure.value));
      }
    }
    tables += "<h3>" + html_text(group.title) + "</h3>\n" + html_rows(rows);
  }
  return tables;
}

const Curve* curve_named(const std::vector<Curve>& curves, const std::string& name) {
  const auto found = std::find_if(curves.begin(), curves.end(), [&](const Curve& curve) { return curve.name == name; });
  return found == curves.end() ? nullptr : &*found;
}

// Losses of training and of evaluations on one sheet; then each other measure.
std::string curve_charts(const RunFigures& run) {
  std::string charts;
  std::vector<Curve> losses;
  for (const auto& [curves, name] : {std::pair{&run.trained, "training"}, {&run.evaluated, "held out"}}) {
    if (const Curve* loss = curve_named(*curves, "loss")) {
      losses.push_back({name, loss->points});
    }
  }
  charts += svg_curves({"loss", "step"}, losses);
  for (const Curve& curve : run.evaluated) {
    if (curve.name != "loss" && metrics::measures_the_model(curve.name) &&
        !repeats_a_figure(curve.name, run.evaluation)) {
      charts += svg_curves({"evaluation: " + curve.name, "step"}, {{"", curve.points}});
    }
  }
  for (const Curve& curve : run.trained) {
    if (curve.name != "loss" && metrics::measures_the_model(curve.name)) {
      charts += svg_curves({"training: " + curve.name, "step"}, {{"", curve.points}});
    }
  }
  return charts.empty() ? "" : "<div class=\"charts\">\n" + charts + "</div>\n";
}

// Cairo names glyphs alike in every picture: each is a document of its own.
std::string picture_of(const tasks::AttentionSummary& summary, std::int64_t length,
                       const models::TransformerConfig& model) {
  std::string heading = "<p>" + html_text(tasks::layer_range(summary) + ": " + summary.effective) + "</p>\n";
  if (!summary.density) {
    return heading;
  }
  pattern::Site site;
  site.query_length = site.key_length = std::min(length, kLongestPicture);
  site.heads = model.num_attention_heads;
  site.layer = summary.first_layer;
  site.maximum_length = model.max_position_embeddings;
  const inspect::Picture picture =
      inspect::make_picture(pattern::Pattern::parse(summary.effective, model.directory), {site, {}, {}, 128});
  return heading + "<img alt=\"" + html_text(summary.effective) + "\" src=\"data:image/svg+xml;base64," +
         formats::base64(svg_picture(picture)) + "\">\n";
}

std::string patterns(const RunFigures& run) {
  // A published encoder's config has other fields; `weft info` shows its pattern.
  if (!run.model.is_object() ||
      formats::value_or(run.model, "model_type", run.where("config.json"), std::string()) != "weft") {
    return {};
  }
  models::TransformerConfig model;
  formats::update_from_json(model, formats::only_fields_of<models::TransformerConfig>(run.model),
                            run.where("config.json"));
  model.directory = run.path;
  models::validate(model, run.where("config.json"));
  const auto length =
      formats::value_or(run.training, "context", run.where("training.json"), model.max_position_embeddings);
  std::string pictures;
  for (const tasks::AttentionSummary& summary : tasks::summarize_attention(model, length)) {
    pictures += picture_of(summary, length, model);
  }
  return pictures;
}

std::string settings_rows(const Json& settings) {
  NamedValues rows;
  for (const auto& [name, value] : settings.items()) {
    rows.emplace_back(name, setting_text(value));
  }
  return html_rows(rows);
}

std::string settings_section(const RunFigures& run) {
  const std::string training = settings_rows(training_settings(run));
  const std::string model = settings_rows(model_settings(run));
  return "<details open><summary>Training</summary>\n" + training + "</details>\n" +
         (model.empty() ? "" : "<details open><summary>Model</summary>\n" + model + "</details>\n");
}

}  // namespace

std::string report_page(const RunFigures& run, const std::string& command) {
  const std::string title = "Weft: " + run.path.filename().string();
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
         "content=\"width=device-width,initial-scale=1\"><title>" +
         html_text(title) + "</title><style>" + std::string(page_style()) + "</style></head><body>\n<h1>" +
         html_text(title) + "</h1>\n<p class=\"note\">Task: " + html_text(task_of(run)) + "</p>\n" +
         html_section("Figures", final_figures(run)) + html_section("Curves", curve_charts(run)) +
         review_section(run.review, run.where("evaluation.json")) + html_section("Attention", patterns(run)) +
         html_section("The command that repeats this run", "<pre>" + html_text(command) + "</pre>\n") +
         html_section("Settings", settings_section(run)) + "<p class=\"note\">Weft " + std::string(kVersion) +
         "</p>\n</body></html>\n";
}

namespace {

using formats::Json;

// A list of objects as a table with a column for each of their names.
std::string objects_table(const Json& objects, const std::string& where) {
  if (objects.empty()) {
    return {};
  }
  std::vector<std::string> headings;
  for (const auto& [name, value] : objects.front().items()) {
    headings.push_back(name);
  }
  std::vector<std::vector<std::string>> rows;
  for (const Json& object : objects) {
    std::vector<std::string> row;
    row.reserve(headings.size());
    for (const std::string& name : headings) {
      row.push_back(html_quote(figure_text(name, formats::member(object, name, where))));
    }
    rows.push_back(std::move(row));
  }
  return html_table(headings, rows);
}

// A count, the darker the larger its share of the row.
std::string matrix_cell(std::int64_t count, std::int64_t of_row, bool right) {
  std::array<char, 16> share{};
  std::snprintf(share.data(), share.size(), "%.2f",
                of_row > 0 ? 0.7 * static_cast<double>(count) / static_cast<double>(of_row) : 0.0);
  return std::string("<td style=\"background:rgba(var(--") + (right ? "good" : "bad") + ")," + share.data() + ")\">" +
         digits(count) + "</td>";
}

std::string confusion_matrix(const Json& confusion, const std::string& where) {
  const auto labels = formats::value_of<std::vector<std::string>>(confusion, "labels", where);
  const Json& counts = formats::list_member(confusion, "counts", where);
  if (counts.size() != labels.size()) {
    fail(ErrorKind::kFormat, where, ": counts must have a row for each of ", labels.size(), " labels, found ",
         counts.size());
  }
  std::string table = "<div class=\"wide\"><table class=\"confusion\">\n<tr><th>true \\ predicted</th>";
  for (const std::string& label : labels) {
    table += "<th scope=\"col\">" + html_quote(label) + "</th>";
  }
  table += "</tr>\n";
  for (std::size_t row = 0; row < labels.size(); ++row) {
    std::vector<std::int64_t> of_row;
    formats::read_value(counts[row], where + ": counts", of_row);
    std::int64_t sum = 0;
    for (const std::int64_t count : of_row) {
      sum += count;
    }
    table += "<tr><th scope=\"row\">" + html_quote(labels[row]) + "</th>";
    for (std::size_t column = 0; column < of_row.size(); ++column) {
      table += matrix_cell(of_row[column], sum, row == column);
    }
    table += "</tr>\n";
  }
  return table + "</table></div>\n";
}

std::string confusion_part(const Json& confusion, const std::string& where) {
  if (confusion.contains("pairs")) {
    const std::string table = objects_table(formats::list_member(confusion, "pairs", where), where + ": pairs");
    return table.empty() ? "" : "<h3>Most frequent confusions</h3>\n" + table;
  }
  return "<h3>Confusion matrix</h3>\n" + confusion_matrix(confusion, where);
}

std::string errors_part(const Json& errors, const std::string& where) {
  if (errors.empty()) {
    return "<h3>Examples of errors</h3>\n<p>There is none.</p>\n";
  }
  const bool scored = errors.front().contains("score");
  std::vector<std::vector<std::string>> rows;
  for (const Json& error : errors) {
    std::string text = html_quote(formats::value_of<std::string>(error, "text", where));
    if (error.contains("question")) {
      const std::string question = html_quote(formats::value_of<std::string>(error, "question", where));
      text = concat(question, "<p class=\"note\">", text, "</p>");
    }
    std::vector<std::string> row = {text};
    for (const char* name : {"truth", "predicted"}) {
      row.push_back(html_quote(figure_text(name, formats::member(error, name, where))));
    }
    if (scored) {
      row.push_back(html_quote(figure_text("score", formats::member(error, "score", where))));
    }
    rows.push_back(std::move(row));
  }
  std::vector<std::string> headings = {"text", "truth", "predicted"};
  if (scored) {
    headings.emplace_back("score");
  }
  return "<h3>Examples of errors</h3>\n<div class=\"examples\">" + html_table(headings, rows) + "</div>\n";
}

}  // namespace

std::string review_section(const Json& review, const std::string& where) {
  if (review.is_null()) {
    return {};
  }
  std::string content = "<p class=\"note\">Of the evaluation after step " +
                        digits(formats::value_of<std::int64_t>(review, "step", where)) + ".</p>\n";
  for (const auto& [name, title] : {std::pair{"labels", "Labels"}, {"types", "Entities"}}) {
    if (review.contains(name)) {
      content += std::string("<h3>") + title + "</h3>\n" +
                 objects_table(formats::list_member(review, name, where), concat(where, ": ", name));
    }
  }
  if (review.contains("confusion")) {
    content += confusion_part(formats::object_member(review, "confusion", where), where + ": confusion");
  }
  if (review.contains("errors")) {
    content += errors_part(formats::list_member(review, "errors", where), where + ": errors");
  }
  return html_section("Held-out examples", content);
}

}  // namespace weft::report
