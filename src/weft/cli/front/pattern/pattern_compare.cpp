// SPDX-License-Identifier: Apache-2.0
// `weft pattern compare`: several expressions on one sheet, each with its figures.
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/pattern/pattern_site.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/work/watched_progress.h"
#include "weft/inspect/graph/statistics.h"
#include "weft/inspect/picture/canvas.h"
#include "weft/inspect/picture/picture.h"

namespace weft::cli {
namespace {

constexpr std::string_view kCompareExamples =
    "  weft pattern compare 'window(256)' 'strided(64)' 'bigbird(block=32)' --length 1024 --png sheet.png\n"
    "  weft pattern compare full star 'axial(32, 32)' --length 1024 --json";

struct CompareConfig {
  std::string svg;
  std::string png;
  std::int64_t cells = 96;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = CompareConfig;
    visit(Field{"svg", &C::svg, "write the sheet to this SVG file"});
    visit(Field{"png", &C::png, "write the sheet to this PNG file"});
    visit(Field{"cells", &C::cells, "cells along a side of each picture, at most"}.range(8, 384));
  }
};

struct CompareOptions {
  std::vector<std::string> expressions;
  formats::Json given = formats::Json::object();
  bool json = false;
};

struct Compared {
  pattern::Pattern pattern;
  inspect::GraphStatistics statistics;
};

std::vector<std::string> figures_of(const inspect::GraphStatistics& stats) {
  std::vector<std::string> lines = {
      concat(inspect::edges_text(static_cast<double>(stats.layout.edges), stats.edges_error, stats.sampled_rows > 0),
             " edges, density ", percent(stats.layout.density))};
  if (!stats.is_measured) {
    lines.push_back(concat("paths not measured: the graph of ", digits(stats.positions), " positions is too large"));
    return lines;
  }
  lines.push_back(concat("average path ", fixed(stats.paths.average.value, 2), ", largest ",
                         stats.sampled > 0 ? "at least " : "", digits(stats.paths.largest)));
  lines.push_back(concat("clustering ", fixed(stats.clustering.value, 3)));
  lines.push_back(concat("spectral gap ", stats.second_eigenvalue ? fixed(1 - stats.second_eigenvalue->value, 4)
                                                                  : std::string("unknown")));
  if (stats.paths.unreachable.value > 0) {  // the path's average is over the others
    lines.push_back(concat("no path for ", percent(stats.paths.unreachable.value), " of pairs"));
  }
  return lines;
}

std::vector<inspect::SheetEntry> sheet_of(const std::vector<Compared>& compared, const pattern::Site& site,
                                          std::int64_t head, std::int64_t cells) {
  std::vector<inspect::SheetEntry> entries;
  for (const Compared& each : compared) {
    inspect::PictureRequest request;
    request.site = site;
    request.head = std::max<std::int64_t>(head, 0);
    request.maximum_cells = cells;
    entries.push_back(
        {each.pattern.to_string(), inspect::make_picture(each.pattern, request), figures_of(each.statistics)});
    if (site.heads > 1 && head < 0) {
      entries.back().figures.push_back(
          concat("the picture shows head 0, the figures count all ", site.heads, " heads"));
    }
  }
  return entries;
}

formats::Json compare_json(const std::vector<Compared>& compared) {
  formats::Json rows = formats::Json::array();
  for (const Compared& each : compared) {
    const inspect::GraphStatistics& stats = each.statistics;
    formats::Json row = {{"expression", each.pattern.to_string()},
                         {"edges", stats.layout.edges},
                         {"edges_error", stats.edges_error},
                         {"density", stats.layout.density},
                         {"measured", stats.is_measured}};
    for (const char* measure : {"average_path", "largest_path", "unreachable_pairs", "clustering", "spectral_gap"}) {
      row[measure] = nullptr;
    }
    if (stats.is_measured) {
      row["average_path"] = stats.paths.average.value;
      row["largest_path"] = stats.paths.largest;
      row["unreachable_pairs"] = stats.paths.unreachable.value;
      row["clustering"] = stats.clustering.value;
    }
    if (stats.second_eigenvalue) {
      row["spectral_gap"] = 1 - stats.second_eigenvalue->value;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void compare(const CompareOptions& options) {
  CompareConfig sheet;
  const PatternSiteConfig config = read_site(options.given, "weft pattern compare");
  formats::update_from_json(sheet, only_fields_of<CompareConfig>(options.given), "weft pattern compare");
  std::vector<pattern::Pattern> patterns;
  patterns.reserve(options.expressions.size());
  for (const std::string& expression : options.expressions) {
    patterns.push_back(pattern::Pattern::parse(expression));
  }
  const BoundSite bound = bind_site(config, patterns);
  std::vector<Compared> compared;
  std::optional<BusyBar> bar("measuring the graphs");
  for (const pattern::Pattern& pattern : patterns) {
    inspect::GraphRequest request{.site = bound.site};
    if (config.head >= 0) {
      request.head = config.head;
    }
    compared.push_back({pattern, inspect::graph_statistics(pattern, request)});
  }
  check_picture_files(sheet.svg, sheet.png);
  if (!sheet.svg.empty() || !sheet.png.empty()) {
    const std::vector<inspect::SheetEntry> entries = sheet_of(compared, bound.site, config.head, sheet.cells);
    if (!sheet.svg.empty()) {
      write_file_atomically(sheet.svg, svg_sheet(entries));
    }
    if (!sheet.png.empty()) {
      write_file_atomically(sheet.png, png_sheet(entries));
    }
  }
  bar.reset();
  if (options.json) {
    print_json(compare_json(compared));
    return;
  }
  for (const Compared& each : compared) {
    std::cout << each.pattern.to_string() << '\n';
    for (const std::string& line : figures_of(each.statistics)) {
      std::cout << "  " << line << '\n';
    }
  }
}

}  // namespace

void add_pattern_compare(CLI::App& parent) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App& app = add_command(parent, "compare", "measure several patterns, and draw them on one sheet",
                              std::string(kCompareExamples));
  app.add_option("EXPRESSIONS", options->expressions, "patterns, as docs/pattern-language.md explains")->required();
  add_fields<PatternSiteConfig>(app, {.title = "Site"}, options->given);
  add_fields<CompareConfig>(app, {.title = "Options"}, options->given);
  add_json_flag(app, options->json);
  app.callback([options] { compare(*options); });
}

}  // namespace weft::cli
