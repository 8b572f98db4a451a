// SPDX-License-Identifier: Apache-2.0
// The workbench: one expression in, its picture, measures and cost out, as `weft pattern show, stats, cost --json`
// print them. Lengths, heads and layers are bounded, so that no expression holds others up for long, and an
// expression names no file of this machine. The models do not wait for it, nor it for them.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/cli/bench/calibration_file.h"
#include "weft/cli/page/page_routes.h"
#include "weft/cli/page/pattern_gallery.h"
#include "weft/cli/pattern/figures_json.h"
#include "weft/core/error.h"
#include "weft/formats/packed_text.h"
#include "weft/inspect/picture/style.h"
#include "weft/inspect/survey/survey.h"
#include "weft/pattern/language/lexer.h"
#include "weft/pattern/language/names.h"
#include "weft/server/schemas.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr std::size_t kLongestExpression = 4096;
constexpr std::size_t kMostInput = 256;
constexpr std::int64_t kLongestText = 4096;
constexpr std::int64_t kMeasuredExactly = 1024;  // beyond, paths and clustering are those of a sample
constexpr std::int64_t kHeadDim = 64;
constexpr double kMostDraws = 1 << 23;      // of random graphs, over heads and layers that differ: about a second
constexpr double kDrawQuestions = 1 << 21;  // to count them: a tenth of one

struct PatternQuestion {
  std::string expression;
  std::int64_t length = 1024;
  std::int64_t heads = 1;
  std::int64_t layers = 6;
  std::int64_t max_length = 0;
  std::vector<std::int64_t> input;
  std::int64_t cells = 128;
  bool figures = true;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = PatternQuestion;
    visit(Field{"expression", &C::expression, "a pattern, as docs/pattern-language.md explains"});
    visit(Field{"length", &C::length, "tokens of the sequence"}.range(1, kLongestText));
    visit(Field{"heads", &C::heads, "attention heads of a layer, each 64 wide"}.range(1, 16));
    visit(Field{"layers", &C::layers, "layers of the model"}.range(1, 24));
    visit(Field{"max_length", &C::max_length, "longest sequence that the model was made for; 0 if unknown"}.range(
        0, 1 << 20));
    visit(Field{"input", &C::input, "positions that `input` stands for"});
    visit(Field{"cells", &C::cells, "cells of a picture on each side, at most"}.range(8, 256));
    visit(Field{"figures", &C::figures, "measure the graph and its cost, too"});
  }
};

void check_expression(const std::string& text) {
  require(!text.empty(), "the request has no 'expression'");
  require(text.size() <= kLongestExpression, "'expression' has ", text.size(), " bytes; expected at most ",
          kLongestExpression);
  for (const pattern::Token& token : pattern::tokenize(text)) {
    if (token.kind == pattern::TokenKind::kName && token.text == "edges") {
      pattern::fail_at(text, token.where, "edges reads a file, which a server does not; `weft pattern show` draws it");
    }
  }
}

PatternQuestion read_question(const server::Request& request) {
  PatternQuestion question;
  formats::update_from_json(question, server::json_object(request), "the request");
  check_expression(question.expression);
  require(question.input.size() <= kMostInput, "'input' has ", question.input.size(), " positions; expected at most ",
          kMostInput);
  std::sort(question.input.begin(), question.input.end());
  return question;
}

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

Json answer_of(const pattern::Pattern& pattern, const PatternQuestion& question,
               const std::optional<inspect::MachineRates>& rates) {
  pattern::Site site;
  site.query_length = question.length;
  site.key_length = question.length;
  site.heads = question.heads;
  site.maximum_length = question.max_length;
  site.input = question.input;
  require_few_draws(pattern, site, question);
  const inspect::Picture picture = inspect::make_picture(pattern, {.site = site, .maximum_cells = question.cells});
  Json json = {{"expression", picture.expression}, {"expanded", pattern.expanded()}, {"picture", drawn(picture)}};
  if (!question.figures) {
    return json;
  }
  const inspect::GraphStatistics stats =
      inspect::graph_statistics(pattern, {.site = site, .layers = question.layers, .exact_length = kMeasuredExactly});
  json["graph"] = stats_json(picture.expression, stats);
  json["cost"] = cost_of(pattern, question, rates);
  return json;
}

server::Work pattern_work(const server::Request& request, const std::optional<inspect::MachineRates>& rates) {
  PatternQuestion question = read_question(request);
  pattern::Pattern pattern = pattern::Pattern::parse(question.expression);
  require(!pattern.needs_input() || !question.input.empty(),
          "the expression contains `input`, so it needs positions: 'input', for example [0, 5]");
  server::Work work;
  work.light = true;  // people wait for it while they type, however long the models compute
  work.group = "pattern " + formats::to_json(question).dump(-1, ' ', true, Json::error_handler_t::replace);
  work.texts = {{.first = question.expression}};
  work.compute = [pattern = std::move(pattern), question = std::move(question),
                  rates](std::span<const server::Text> texts) {
    return std::vector<Json>(texts.size(), answer_of(pattern, question, rates));
  };
  work.finish = [](std::vector<Json> results) { return std::move(results.front()); };
  return work;
}

Json language() {
  Json names = Json::array();
  for (const pattern::Name& name : pattern::names()) {
    if (name.name != "edges") {
      names.push_back({{"name", name.name}, {"usage", name.usage}, {"summary", name.summary}});
    }
  }
  Json gallery = Json::array();
  for (const GalleryPattern& one : pattern_gallery()) {
    gallery.push_back({{"title", one.title},
                       {"about", one.about},
                       {"expression", one.expression},
                       {"length", one.length},
                       {"heads", one.heads},
                       {"input", one.input}});
  }
  return {{"names", names}, {"gallery", gallery}};
}

server::Operation language_operation() {
  const Json objects = server::array_schema({{"type", "object"}});
  return {.summary = "The names of the language of patterns, and published patterns.",
          .answer = server::object_schema({{"names", objects}, {"gallery", objects}}, {"names", "gallery"})};
}

server::Operation pattern_operation() {
  const Json object = {{"type", "object"}};
  Json properties = server::properties_of<PatternQuestion>();
  properties["expression"]["minLength"] = 1;
  properties["expression"]["maxLength"] = kLongestExpression;
  properties["input"]["maxItems"] = kMostInput;
  return {.summary = "The picture of a pattern, the measures of its graph, and its cost in a model.",
          .body = server::object_schema(properties, {"expression"}),
          .answer = server::open_object_schema({{"expression", {{"type", "string"}}},
                                                {"expanded", {{"type", "string"}}},
                                                {"picture", object},
                                                {"graph", object},
                                                {"cost", object}},
                                               {"expression", "expanded", "picture"})};
}

}  // namespace

void add_pattern_routes(server::Router& router, std::int64_t threads) {
  router.add(
      "GET", "/v1/patterns",
      [json = language()](const server::Request&) -> server::Answer { return server::json_reply(json); },
      language_operation());
  router.add(
      "POST", "/v1/pattern",
      [rates = find_rates({}, threads)](const server::Request& request) -> server::Answer {
        return pattern_work(request, rates);
      },
      pattern_operation());
}

}  // namespace weft::cli
