// SPDX-License-Identifier: Apache-2.0
// Every text here is from the data of a run: it is quoted, and what is shown of each is bounded where it was written.
#include "weft/cli/report/review_section.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "weft/cli/output.h"
#include "weft/cli/report/figure_text.h"
#include "weft/cli/report/html.h"
#include "weft/core/error.h"

namespace weft::cli {
namespace {

using formats::Json;

// A list of objects as a table with a column for each of their names.
std::string objects_table(const Json& objects) {
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
    for (const std::string& name : headings) {
      row.push_back(html_quote(figure_text(name, object.at(name))));
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

std::string confusion_matrix(const Json& confusion) {
  const Json& labels = confusion.at("labels");
  const Json& counts = confusion.at("counts");
  std::string table = "<div class=\"wide\"><table class=\"confusion\">\n<tr><th>true \\ predicted</th>";
  for (const Json& label : labels) {
    table += "<th scope=\"col\">" + html_quote(label.get<std::string>()) + "</th>";
  }
  table += "</tr>\n";
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto of_row = counts.at(row).get<std::vector<std::int64_t>>();
    std::int64_t sum = 0;
    for (const std::int64_t count : of_row) {
      sum += count;
    }
    table += "<tr><th scope=\"row\">" + html_quote(labels[row].get<std::string>()) + "</th>";
    for (std::size_t column = 0; column < of_row.size(); ++column) {
      table += matrix_cell(of_row[column], sum, row == column);
    }
    table += "</tr>\n";
  }
  return table + "</table></div>\n";
}

std::string confusion_part(const Json& confusion) {
  if (confusion.contains("pairs")) {
    const std::string table = objects_table(confusion["pairs"]);
    return table.empty() ? "" : "<h3>Most frequent confusions</h3>\n" + table;
  }
  return "<h3>Confusion matrix</h3>\n" + confusion_matrix(confusion);
}

std::string errors_part(const Json& errors) {
  if (errors.empty()) {
    return "<h3>Examples of errors</h3>\n<p>There is none.</p>\n";
  }
  const bool scored = errors.front().contains("score");
  std::vector<std::vector<std::string>> rows;
  for (const Json& error : errors) {
    std::string text = html_quote(error.at("text").get<std::string>());
    if (error.contains("question")) {
      text = html_quote(error["question"].get<std::string>()) + "<p class=\"note\">" + text + "</p>";
    }
    std::vector<std::string> row = {text};
    for (const char* name : {"truth", "predicted"}) {
      row.push_back(html_quote(figure_text(name, error.at(name))));
    }
    if (scored) {
      row.push_back(html_quote(figure_text("score", error.at("score"))));
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
  try {
    std::string content =
        "<p class=\"note\">Of the evaluation after step " + digits(review.at("step").get<std::int64_t>()) + ".</p>\n";
    for (const auto& [name, title] : {std::pair{"labels", "Labels"}, {"types", "Entities"}}) {
      if (review.contains(name)) {
        content += std::string("<h3>") + title + "</h3>\n" + objects_table(review[name]);
      }
    }
    content += review.contains("confusion") ? confusion_part(review["confusion"]) : "";
    content += review.contains("errors") ? errors_part(review["errors"]) : "";
    return html_section("Held-out examples", content);
  } catch (const Json::exception& error) {
    fail(ErrorKind::kFormat, where, ": ", error.what());
  }
}

}  // namespace weft::cli
