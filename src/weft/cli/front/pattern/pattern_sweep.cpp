// SPDX-License-Identifier: Apache-2.0
// `weft pattern sweep`: the small-world curve, and mixtures of random, window and global edges at equal density: the
// graph argument for sparse attention as one figure that anyone can rerun.
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
#include "weft/inspect/graph/sweep.h"
#include "weft/inspect/picture/plot.h"

namespace weft::cli {
namespace {

constexpr std::string_view kSweepExamples =
    "  weft pattern sweep --length 1024 --width 12\n"
    "  weft pattern sweep --length 2048 --width 24 --graphs 3 --png small-world.png\n"
    "  weft pattern sweep --json";

struct SweepConfig {
  std::int64_t length = 1024;
  std::int64_t width = 12;
  std::int64_t graphs = 5;
  std::string svg;
  std::string png;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = SweepConfig;
    visit(Field{"length", &C::length, "positions of every graph"}.range(16, 1 << 14));
    visit(Field{"width", &C::width,
                "keys that a query attends to besides itself; the mixtures round it down to a multiple of 12"}
              .range(12, 1 << 13));
    visit(Field{"graphs", &C::graphs, "random graphs that are drawn for each point; the figures are their mean"}.range(
        1, 1000));
    visit(Field{"svg", &C::svg, "write the figure to this SVG file"});
    visit(Field{"png", &C::png, "write the figure to this PNG file"});
  }
};

struct SweepOptions {
  formats::Json given = formats::Json::object();
  bool json = false;
};

using Table = std::vector<std::vector<std::string>>;

Table curve_table(const inspect::SmallWorld& world) {
  Table table{{"beta", "", "path", "clustering", "path share", "clustering share"}};
  table.push_back({"0", "", fixed(world.ring_path, 3), fixed(world.ring_clustering, 4), "1.000", "1.000"});
  for (const inspect::SweepPoint& point : world.points) {
    table.push_back({short_number(point.rewired), "", fixed(point.path, 3), fixed(point.clustering, 4),
                     fixed(point.path_share, 3), fixed(point.clustering_share, 3)});
  }
  return table;
}

Table mixture_table(const std::vector<inspect::Mixture>& mixtures) {
  Table table{{"mixture", "expression", "density", "path", "clustering", "gap", "star"}};
  for (const inspect::Mixture& mixture : mixtures) {
    table.push_back({mixture.name, mixture.expression, percent(mixture.statistics.layout.density),
                     fixed(mixture.path, 3), fixed(mixture.clustering, 4), fixed(mixture.gap, 4),
                     mixture.statistics.contains_star ? "yes" : "no"});
  }
  return table;
}

/// The rows in columns as wide as their longest word.
std::string aligned(const Table& table) {
  std::vector<std::size_t> widths(table.front().size(), 0);
  for (const std::vector<std::string>& row : table) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : table) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::string space(widths[column] - row[column].size(), ' ');
      line += (widths[column] == 0 ? "" : (column < 2 ? row[column] + space : space + row[column]) + "  ");
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

inspect::Plot plot_of(const SweepConfig& config, const inspect::SmallWorld& world,
                      const std::vector<inspect::Mixture>& mixtures) {
  inspect::Plot plot{concat("watts_strogatz(", config.width, ", beta) over ", digits(config.length), " positions"),
                     "rewiring probability beta",
                     {{"average path, share of the ring's", inspect::edge_style(pattern::EdgeKind::kWindow).colour, {}},
                      {"clustering, share of the ring's", inspect::edge_style(pattern::EdgeKind::kRandom).colour, {}}},
                     mixture_table(mixtures)};
  for (const inspect::SweepPoint& point : world.points) {
    plot.curves[0].points.emplace_back(point.rewired, point.path_share);
    plot.curves[1].points.emplace_back(point.rewired, point.clustering_share);
  }
  return plot;
}

formats::Json sweep_json(const inspect::SmallWorld& world, const std::vector<inspect::Mixture>& mixtures) {
  formats::Json points = formats::Json::array();
  for (const inspect::SweepPoint& point : world.points) {
    points.push_back({{"beta", point.rewired},
                      {"path", point.path},
                      {"clustering", point.clustering},
                      {"path_share", point.path_share},
                      {"clustering_share", point.clustering_share}});
  }
  formats::Json rows = formats::Json::array();
  for (const inspect::Mixture& mixture : mixtures) {
    rows.push_back({{"mixture", mixture.name},
                    {"expression", mixture.expression},
                    {"density", mixture.statistics.layout.density},
                    {"path", mixture.path},
                    {"clustering", mixture.clustering},
                    {"spectral_gap", mixture.gap},
                    {"contains_star", mixture.statistics.contains_star}});
  }
  return {{"ring", {{"path", world.ring_path}, {"clustering", world.ring_clustering}}},
          {"points", points},
          {"mixtures", rows}};
}

void sweep(const SweepOptions& options) {
  SweepConfig config;
  formats::update_from_json(config, options.given, "weft pattern sweep");
  inspect::SweepRequest request;
  request.length = config.length;
  request.width = config.width;
  request.graphs = config.graphs;
  if (config.width >= config.length) {
    throw UsageError(
        concat("weft pattern sweep: --width must be below --length ", config.length, ", found ", config.width),
        concat("for example: --length ", 2 * config.width, " --width ", config.width));
  }
  constexpr double kMost = 1 << 20;  // keys of all graphs of one point: some seconds for the whole sweep
  const double keys =
      static_cast<double>(config.length) * static_cast<double>(config.width) * static_cast<double>(config.graphs);
  if (keys > kMost) {
    throw UsageError(concat("weft pattern sweep: --length ", config.length, " x --width ", config.width, " x --graphs ",
                            config.graphs, " is more than 1048576, which would take minutes"),
                     "for example: weft pattern sweep --length 4096 --width 24 --graphs 5");
  }
  std::optional<BusyBar> bar("measuring the graphs");
  const inspect::SmallWorld world = sweep_small_world(request);
  const std::vector<inspect::Mixture> mixtures = mixtures_at_equal_density(request);
  bar.reset();
  const inspect::Plot plot = plot_of(config, world, mixtures);
  if (!config.svg.empty()) {
    write_file_atomically(config.svg, svg_plot(plot));
  }
  if (!config.png.empty()) {
    write_file_atomically(config.png, png_plot(plot));
  }
  if (options.json) {
    print_json(sweep_json(world, mixtures));
  } else {
    std::cout << aligned(curve_table(world)) << '\n' << aligned(mixture_table(mixtures));
  }
}

}  // namespace

void add_pattern_sweep(CLI::App& parent) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App& app = add_command(parent, "sweep",
                              "measure random (R), window (W) and global (G) edges against each other at equal density",
                              std::string(kSweepExamples));
  add_fields<SweepConfig>(app, {.title = "Options"}, options->given);
  add_json_flag(app, options->json);
  app.callback([options] { sweep(*options); });
}

}  // namespace weft::cli
