// SPDX-License-Identifier: Apache-2.0
// A picture's cells go as packed bytes; what takes time, drawing random keys, is counted before it is done.
#include "weft/page/pattern_answer.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/work/pieces.h"
#include "weft/formats/packed_text.h"
#include "weft/inspect/picture/style.h"
#include "weft/inspect/survey/survey.h"
#include "weft/page/figures_json.h"

namespace weft::page {
namespace {

using formats::Json;

constexpr std::int64_t kMeasuredExactly = 1024;  // beyond, paths and clustering are those of a sample
constexpr std::int64_t kHeadDim = 64;
constexpr double kMostDraws = 1 << 23;      // of random graphs, over heads and layers that differ: about a second
constexpr double kDrawQuestions = 1 << 21;  // to count them: a tenth of one

std::string hex_colour(const inspect::Colour& colour) {
  constexpr double kMost = 255;
  std::string text = "#";
  for (const double part : {colour.red, colour.green, colour.blue}) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto value = static_cast<std::size_t>(std::lround(part * kMost));
    text += kDigits[value / 16];
    text += kDigits[value % 16];
  }
  return text;
}

// Two bytes a cell: the number of its kind, and the share of its pairs that are edges in 255 parts, 0 for none only.
std::string packed_cells(const inspect::PicturePanel& panel) {
  constexpr double kMost = 255;
  std::string bytes;
  bytes.reserve(2 * panel.cells.size());
  for (const inspect::PictureCell& cell : panel.cells) {
    const double share = cell.kind == pattern::EdgeKind::kNone ? 0 : std::max(1.0, std::round(cell.coverage * kMost));
    bytes += static_cast<char>(cell.kind);
    bytes += static_cast<char>(static_cast<unsigned char>(share));
  }
  return formats::base64(formats::zlib_compressed(bytes));
}

Json drawn(const inspect::Picture& picture) {
  Json json = picture_json(picture);
  Json kinds = Json::array();
  for (const pattern::EdgeKind kind : kinds_of(picture)) {
    kinds.push_back({{"number", static_cast<int>(kind)},
                     {"name", pattern::edge_kind_name(kind)},
                     {"colour", hex_colour(inspect::edge_style(kind).colour)}});
  }
  Json panels = Json::array();
  for (const inspect::PicturePanel& panel : picture.panels) {
    panels.push_back({{"label", panel_label(picture, panel)}, {"heads", panel.heads}, {"cells", packed_cells(panel)}});
  }
  json["kinds"] = std::move(kinds);
  json["panels"] = std::move(panels);
  json["cell"] = picture.cell;
  json["rows"] = picture.rows;
  json["columns"] = picture.columns;
  json["lines"] = figure_lines(picture);
  return json;
}

Json cost_of(const pattern::Pattern& pattern, const PatternQuestion& question,
             const std::optional<inspect::MachineRates>& measured) {
  inspect::ModelShape shape;
  shape.layers = question.layers;
  shape.heads = question.heads;
  shape.width = kHeadDim * question.heads;
  shape.feed_forward = 4 * shape.width;
  shape.maximum_length = question.max_length;
  shape.input = question.input;
  const std::optional<inspect::LayerEstimates> sampled = estimated_works(pattern, shape, question.length);
  const std::optional<inspect::MachineRates> rates = sampled ? std::nullopt : measured;
  const std::vector<inspect::LayoutWork> works = sampled ? *sampled : layer_works(pattern, shape, question.length);
  return {{"estimated", sampled.has_value()},
          {"shape", formats::to_json(shape)},
          {"sparse", cost_json(sparse_cost(shape, question.length, works, rates))},
          {"dense", cost_json(dense_cost(shape, question.length, rates))}};
}

// Blocks are few at such lengths, whatever the pattern: what takes time is to draw random keys.
void require_few_draws(const pattern::Pattern& pattern, const pattern::Site& site, const PatternQuestion& question) {
  const double layers = question.figures && pattern.depends_on_layer() ? static_cast<double>(question.layers) : 1;
  const double draws = layers * inspect::survey_layout(pattern, site, {}, kDrawQuestions).listed_keys;
  require(draws <= kMostDraws, "the pattern draws about ", std::llround(draws), " random keys; expected at most ",
          std::llround(kMostDraws), ": take fewer tokens, heads or layers");
}

}  // namespace

Json pattern_answer(const pattern::Pattern& pattern, const PatternQuestion& question,
                    const std::optional<inspect::MachineRates>& rates) {
  pattern::Site site;
  site.query_length = question.length;
  site.key_length = question.length;
  site.heads = question.heads;
  site.maximum_length = question.max_length;
  site.input = question.input;
  require_few_draws(pattern, site, question);
  end_piece();
  const inspect::Picture picture = inspect::make_picture(pattern, {.site = site, .maximum_cells = question.cells});
  Json json = {{"expression", picture.expression}, {"expanded", pattern.expanded()}, {"picture", drawn(picture)}};
  if (!question.figures) {
    return json;
  }
  end_piece();
  const inspect::GraphStatistics stats =
      inspect::graph_statistics(pattern, {.site = site, .layers = question.layers, .exact_length = kMeasuredExactly});
  json["graph"] = stats_json(picture.expression, stats);
  end_piece();
  json["cost"] = cost_of(pattern, question, rates);
  return json;
}

}  // namespace weft::page
