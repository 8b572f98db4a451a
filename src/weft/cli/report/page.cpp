// SPDX-License-Identifier: Apache-2.0
// Sections of the page, one function each.
#include "weft/cli/report/page.h"

#include <algorithm>

#include "weft/cli/commands/attention_summary.h"
#include "weft/cli/field_flags.h"
#include "weft/cli/output.h"
#include "weft/cli/report/figure_groups.h"
#include "weft/cli/report/figure_text.h"
#include "weft/cli/report/html.h"
#include "weft/cli/report/review_section.h"
#include "weft/cli/report/run_settings.h"
#include "weft/core/error.h"
#include "weft/core/version.h"
#include "weft/pattern/picture/canvas.h"
#include "weft/pattern/picture/picture.h"
#include "weft/training/best_figure.h"

namespace weft::cli {
namespace {

using formats::Json;
constexpr std::int64_t kLongestPicture = 4096;  // positions that a picture shows

std::string final_figures(const RunFigures& run) {
  std::string tables;
  for (const FigureGroup& group : figure_groups(run)) {
    Rows rows;
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
    if (curve.name != "loss" && training::measures_the_model(curve.name) &&
        !repeats_a_figure(curve.name, run.evaluation)) {
      charts += svg_curves({"evaluation: " + curve.name, "step"}, {{"", curve.points}});
    }
  }
  for (const Curve& curve : run.trained) {
    if (curve.name != "loss" && training::measures_the_model(curve.name)) {
      charts += svg_curves({"training: " + curve.name, "step"}, {{"", curve.points}});
    }
  }
  return charts.empty() ? "" : "<div class=\"charts\">\n" + charts + "</div>\n";
}

std::string base64(const std::string& bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = i; j < i + 3; ++j) {
      group = (group << 8) | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? kLetters[(group >> (18 - 6 * j)) & 63U] : '=';
    }
  }
  return text;
}

// Cairo names glyphs alike in every picture: each is a document of its own.
std::string picture_of(const AttentionSummary& summary, std::int64_t length, const models::TransformerConfig& model) {
  std::string heading = "<p>" + html_text(layer_range(summary) + ": " + summary.effective) + "</p>\n";
  if (!summary.density) {
    return heading;
  }
  pattern::Site site;
  site.query_length = site.key_length = std::min(length, kLongestPicture);
  site.heads = model.num_attention_heads;
  site.layer = summary.first_layer;
  site.maximum_length = model.max_position_embeddings;
  const pattern::Picture picture = make_picture(pattern::Pattern::parse(summary.effective), {site, {}, {}, 128});
  return heading + "<img alt=\"" + html_text(summary.effective) + "\" src=\"data:image/svg+xml;base64," +
         base64(svg_picture(picture)) + "\">\n";
}

std::string patterns(const RunFigures& run) {
  // A published encoder's config has other fields; `weft info` shows its pattern.
  if (!run.model.is_object() || run.model.value("model_type", std::string()) != "weft") {
    return {};
  }
  models::TransformerConfig model;
  formats::update_from_json(model, only_fields_of<models::TransformerConfig>(run.model),
                            (run.path / "config.json").string());
  const std::int64_t length = run.training.value("context", model.max_position_embeddings);
  std::string pictures;
  for (const AttentionSummary& summary : summarize_attention(model, length)) {
    pictures += picture_of(summary, length, model);
  }
  return pictures;
}

std::string settings_rows(const Json& settings) {
  Rows rows;
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

std::string report_page(const RunFigures& run) {
  const std::string title = "Weft: " + run.path.filename().string();
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
         "content=\"width=device-width,initial-scale=1\"><title>" +
         html_text(title) + "</title><style>" + std::string(page_style()) + "</style></head><body>\n<h1>" +
         html_text(title) + "</h1>\n<p class=\"note\">Task: " + html_text(task_of(run)) + "</p>\n" +
         html_section("Figures", final_figures(run)) + html_section("Curves", curve_charts(run)) +
         review_section(run.review, (run.path / "evaluation.json").string()) +
         html_section("Attention", patterns(run)) +
         html_section("The command that repeats this run", "<pre>" + html_text(command_to_repeat(run)) + "</pre>\n") +
         html_section("Settings", settings_section(run)) + "<p class=\"note\">Weft " + std::string(kVersion) +
         "</p>\n</body></html>\n";
}

}  // namespace weft::cli
