// SPDX-License-Identifier: Apache-2.0
// `weft pattern stats`: the graph of a pattern as figures, before anything is trained on it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/cli/front/bench/calibration_file.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/pattern/pattern_site.h"
#include "weft/cli/front/threads.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/work/watched_progress.h"
#include "weft/inspect/cost/computed_orders.h"
#include "weft/inspect/cost/layout_work.h"
#include "weft/inspect/graph/statistics.h"
#include "weft/inspect/picture/picture.h"
#include "weft/page/figures_json.h"
#include "weft/pattern/compile/stride_columns.h"

namespace weft::cli {
namespace {

constexpr std::string_view kStatsExamples =
    "  weft pattern stats 'bigbird' --length 4096 --heads 12 --layers 12\n"
    "  weft pattern stats 'window(512) | global(input)' --length 4096 --input 0 --json\n"
    "  weft pattern stats 'watts_strogatz(16, 0.1)' --length 1024";

struct StatsConfig {
  std::int64_t layers = 12;
  std::int64_t exact = 4096;
  std::int64_t samples = 256;
  std::int64_t head_dim = 64;
  std::string dtype = "float32";

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = StatsConfig;
    visit(Field{"layers", &C::layers, "layers over which the reach of a position is followed"}.range(0, 1000));
    visit(
        Field{"exact", &C::exact, "sequences up to this length are measured at every position, longer ones at a sample"}
            .range(0, 1 << 20));
    visit(Field{"samples", &C::samples, "positions in a sample"}.range(2, 1 << 20));
    visit(Field{"head_dim", &C::head_dim, "width of a head, for the predicted time"}.range(1, 4096));
    visit(Field{"dtype", &C::dtype, "element type, for the predicted time"}.one_of({"float32", "bfloat16"}));
  }
};

struct StatsOptions {
  std::string expression;
  formats::Json given = formats::Json::object();
  std::int64_t threads = 0;
  bool json = false;
};

/// Seconds that one call takes on this machine, all heads, and full attention of the same size.
struct PredictedSeconds {
  double forward = 0;
  double training = 0;  ///< forward and backward
  double dense_forward = 0;
  double dense_training = 0;
};

std::optional<PredictedSeconds> predict(const pattern::Pattern& pattern, const pattern::Site& site,
                                        const StatsConfig& config, std::int64_t threads) {
  const std::optional<inspect::MachineRates> measured = find_rates({}, threads);
  if (!measured) {
    return std::nullopt;
  }
  const inspect::AttentionRates rates = attention_rates(*measured, config.dtype, config.head_dim);
  const inspect::LayoutWork work = inspect::computed_work(pattern, site, config.head_dim);
  const auto heads = static_cast<double>(site.heads);
  const auto length = static_cast<double>(site.key_length);
  PredictedSeconds seconds;
  seconds.forward = forward_seconds(work, rates.forward);
  seconds.training = seconds.forward + backward_seconds(work, rates.backward);
  seconds.dense_forward = dense_seconds(heads, length, rates.dense_forward);
  seconds.dense_training = seconds.dense_forward + dense_seconds(heads, length, rates.dense_backward);
  return seconds;
}

formats::Json seconds_json(const std::optional<PredictedSeconds>& seconds) {
  if (!seconds) {
    return nullptr;
  }
  return {{"forward", seconds->forward},
          {"forward_backward", seconds->training},
          {"dense_forward", seconds->dense_forward},
          {"dense_forward_backward", seconds->dense_training}};
}

std::string seconds_text(const PredictedSeconds& seconds) {
  const auto milliseconds = [](double value) { return fixed(value * 1e3, 1) + " ms"; };
  return concat(milliseconds(seconds.forward), ", with backward ", milliseconds(seconds.training),
                "  (full attention: ", milliseconds(seconds.dense_forward), ", ", milliseconds(seconds.dense_training),
                ")");
}

std::string with_error(const inspect::Estimate& estimate, int places) {
  return fixed(estimate.value, places) + (estimate.error > 0 ? " +- " + fixed(estimate.error, places) : "");
}

std::string reach_text(const std::vector<inspect::Estimate>& reach) {
  return joined(reach, "  ", [](const inspect::Estimate& layer) { return digits(std::llround(layer.value)); });
}

Rows layout_rows(const inspect::GraphStatistics& stats) {
  const pattern::LayoutStatistics& layout = stats.layout;
  const bool estimated = stats.sampled_rows > 0;
  const auto count = [&](std::int64_t number) {
    return inspect::estimated_digits(static_cast<double>(number), estimated);
  };
  Rows rows = {{"edges", concat(inspect::edges_text(static_cast<double>(layout.edges), stats.edges_error, estimated),
                                ", density ", percent(layout.density))},
               {"blocks of 64",
                concat(count(layout.full_blocks), " full, ", count(layout.partial_blocks + layout.weighted_blocks),
                       " partial of ", digits(stats.possible_blocks), "; ", percent(layout.edges_per_slot),
                       " of computed scores are edges")}};
  if (estimated) {
    rows.emplace_back("estimated from",
                      concat("a sample of ", digits(stats.sampled_rows), " rows of 64 queries; +- is a 95% interval"));
  }
  return rows;
}

using Columns = std::optional<pattern::StridesInColumns>;

std::vector<std::int64_t> strides_of(const pattern::StridesInColumns& split) {
  std::vector<std::int64_t> strides;
  strides.reserve(split.columns.size());
  for (const pattern::StrideColumns& columns : split.columns) {
    strides.push_back(columns.stride);
  }
  return strides;
}

formats::Json columns_json(const Columns& split) {
  if (!split) {
    return nullptr;
  }
  return {{"strides", strides_of(*split)}, {"blocks", split->blocks}, {"blocks_in_text", split->blocks_in_text}};
}

/// What attention computes in place of the layout in the order of the text.
std::string columns_text(const pattern::StridesInColumns& split) {
  const auto count = [](double blocks) { return inspect::estimated_digits(blocks, true); };
  return concat("stride ", joined(strides_of(split), ", ", [](std::int64_t stride) { return digits(stride); }),
                ": over a whole text rows are sorted into columns; ", count(split.blocks), " blocks are computed, not ",
                count(split.blocks_in_text));
}

/// What to type instead: a graph has at most as many words as its length times those of a row.
std::string unmeasured_text(const inspect::GraphStatistics& stats) {
  const double share = static_cast<double>(inspect::kMeasuredWords) / std::max(stats.words, 1.0);
  const auto length = static_cast<std::uint64_t>(static_cast<double>(stats.positions) * std::min(share, 0.5));
  return concat("not measured: the graph of ", digits(stats.positions), " positions is too large; try --length ",
                std::bit_floor(std::max<std::uint64_t>(length, 64)));
}

std::string stats_text(const inspect::GraphStatistics& stats, const StatsConfig& config, const Columns& columns,
                       const std::optional<PredictedSeconds>& seconds) {
  Rows rows = layout_rows(stats);
  if (columns) {
    rows.emplace_back("columns", columns_text(*columns));
  }
  if (!stats.is_measured) {
    rows.emplace_back("paths and the rest", unmeasured_text(stats));
    return name_table(rows);
  }
  rows.emplace_back("isolated positions",
                    concat(digits(stats.isolated), "; positions that no other attends to: ", digits(stats.unseen)));
  rows.emplace_back("average path", with_error(stats.paths.average, 3));
  rows.emplace_back("largest path", concat(stats.sampled > 0 ? "at least " : "", digits(stats.paths.largest)));
  rows.emplace_back("pairs without path", percent(stats.paths.unreachable.value));
  rows.emplace_back("clustering", with_error(stats.clustering, 4));
  if (stats.second_eigenvalue) {
    rows.emplace_back("second eigenvalue", with_error(*stats.second_eigenvalue, 6));
    rows.emplace_back("spectral gap", fixed(1 - stats.second_eigenvalue->value, 6));
  } else {
    rows.emplace_back("second eigenvalue", "not found: the iteration did not converge at this length");
  }
  rows.emplace_back("star graph", stats.contains_star ? "yes: BigBird's proof of universality applies"
                                                      : "no: BigBird's proof of universality does not apply");
  if (!stats.reach.empty()) {
    rows.emplace_back("reach by layer", reach_text(stats.reach));
  } else if (config.layers > 0) {
    rows.emplace_back("reach by layer", concat("not measured: each of the ", config.layers,
                                               " layers has a different large graph; try --layers 2"));
  }
  if (seconds) {
    rows.emplace_back("predicted time", seconds_text(*seconds));
  }
  if (stats.sampled > 0) {
    rows.emplace_back("measured on", concat(digits(stats.sampled), " of ", digits(stats.positions),
                                            " positions; +- is a 95% interval"));
  }
  return name_table(rows);
}

void show_stats(const StatsOptions& options) {
  StatsConfig stats;
  const PatternSiteConfig config = read_site(options.given, "weft pattern stats");
  formats::update_from_json(stats, only_fields_of<StatsConfig>(options.given), "weft pattern stats");
  const pattern::Pattern pattern = pattern::Pattern::parse(options.expression);
  const BoundSite bound = bind_site(config, {pattern});
  inspect::GraphRequest request{
      .site = bound.site, .layers = stats.layers, .exact_length = stats.exact, .samples = stats.samples};
  if (config.head >= 0) {
    request.head = config.head;
  }
  std::optional<BusyBar> bar("measuring the graph");
  const inspect::GraphStatistics found = inspect::graph_statistics(pattern, request);
  const std::optional<PredictedSeconds> seconds =
      found.is_measured ? predict(pattern, bound.site, stats, asked_threads(options.threads)) : std::nullopt;
  const Columns columns = pattern::strides_in_columns(pattern, bound.site);
  bar.reset();
  if (options.json) {
    formats::Json json = page::stats_json(pattern.to_string(), found);
    json["columns"] = columns_json(columns);
    json["seconds"] = seconds_json(seconds);
    print_json(json);
    return;
  }
  std::cout << pattern.to_string() << '\n' << stats_text(found, stats, columns, seconds);
}

}  // namespace

void add_pattern_stats(CLI::App& parent) {
  auto options = std::make_shared<StatsOptions>();
  CLI::App& app = add_command(parent, "stats", "measure the graph of a pattern: paths, clustering, spectral gap, reach",
                              std::string(kStatsExamples));
  app.add_option("EXPRESSION", options->expression, "a pattern, as docs/pattern-language.md explains")->required();
  add_fields<PatternSiteConfig>(app, {.title = "Site"}, options->given);
  add_fields<StatsConfig>(app, {.title = "Options"}, options->given);
  add_threads_flag(app, options->threads);
  add_json_flag(app, options->json);
  app.callback([options] { show_stats(*options); });
}

}  // namespace weft::cli
