// SPDX-License-Identifier: Apache-2.0
// Sections of the page, one function each.
#include "weft/cli/report/page.h"

#include <algorithm>

#include "weft/cli/commands/attention_summary.h"
#include "weft/cli/field_flags.h"
#include "weft/cli/output.h"
#include "weft/core/error.h"
#include "weft/core/progress.h"
#include "weft/core/version.h"
#include "weft/pattern/picture/canvas.h"
#include "weft/pattern/picture/picture.h"

namespace weft::cli {
namespace {

using formats::Json;
constexpr std::int64_t kLongestPicture = 4096;  // positions that a picture shows

constexpr const char* kStyle =
    "body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}"
    "h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em;border-bottom:1px solid #ccc}"
    "table{border-collapse:collapse}td{padding:.15em 1.5em .15em 0;vertical-align:top}"
    "td:first-child{color:#666;white-space:nowrap}svg,img{max-width:100%;height:auto}"
    "pre{background:#f5f5f5;padding:.8em;white-space:pre-wrap;word-break:break-all}";

std::string section(const std::string& title, const std::string& content) {
  return content.empty() ? "" : "<h2>" + html_text(title) + "</h2>\n" + content;
}

std::string rows_table(const Rows& rows) {
  std::string table = "<table>\n";
  for (const auto& [name, value] : rows) {
    table += "<tr><td>" + html_text(name) + "</td><td>" + html_text(value) + "</td></tr>\n";
  }
  return rows.empty() ? "" : table + "</table>\n";
}

std::string figure_text(const Json& value) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (value.is_number_integer()) {
    return digits(value.get<std::int64_t>());
  }
  return value.is_null() ? "undefined" : value.dump();
}

std::string final_figures(const RunFigures& run) {
  Rows rows;
  const Json summary = summary_json(run);
  for (const auto& [name, value] : summary.items()) {
    if (name != "run" && !value.is_null()) {
      rows.emplace_back(name, name == "seconds" ? duration_text(value.get<double>()) : figure_text(value));
    }
  }
  if (run.best.is_object()) {
    rows.emplace_back("best after step", figure_text(run.best.value("step", Json(nullptr))));
  }
  return rows_table(rows);
}

std::string curve_section(const std::vector<Curve>& curves, const std::string& of,
                          const std::vector<std::string>& left_out) {
  std::string figures;
  for (const Curve& curve : curves) {
    if (std::find(left_out.begin(), left_out.end(), curve.name) == left_out.end()) {
      figures += svg_curves({of + ": " + curve.name, "step"}, {{"", curve.points}});
    }
  }
  return figures;
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

std::string settings(const Json& json) {
  Rows rows;
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) {
      rows.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  return rows_table(rows);
}

}  // namespace

std::string report_page(const RunFigures& run) {
  const std::string title = "Weft: " + run.path.filename().string();
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + html_text(title) +
         "</title><style>" + kStyle + "</style></head><body>\n<h1>" + html_text(title) + "</h1>\n" +
         section("Figures", final_figures(run)) +
         section("Evaluation", curve_section(run.evaluated, "evaluation", {"seconds", "bytes", "context"})) +
         section("Training", curve_section(run.trained, "training", {"seconds", "tokens"})) +
         section("Attention", patterns(run)) +
         section("Repeat", "<pre>" + html_text(command_to_repeat(run)) + "</pre>\n") +
         section("Training settings", settings(run.training)) + section("Model settings", settings(run.model)) +
         "<p>Weft " + std::string(kVersion) + "</p>\n</body></html>\n";
}

}  // namespace weft::cli
