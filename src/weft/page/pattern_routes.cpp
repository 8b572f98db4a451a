// SPDX-License-Identifier: Apache-2.0
// The workbench's requests: an expression is bounded and names no file of this machine, and its answer is computed
// beside the models, which do not wait for it, nor it for them.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/page/page_routes.h"
#include "weft/page/pattern_answer.h"
#include "weft/page/pattern_gallery.h"
#include "weft/pattern/language/lexer.h"
#include "weft/pattern/language/names.h"
#include "weft/server/schemas.h"

namespace weft::page {
namespace {

using formats::Json;

constexpr std::size_t kLongestExpression = 4096;
constexpr std::size_t kMostInput = 256;
constexpr std::int64_t kTokensOfByte = 16;  // of a drawn length, which take as long as a byte of a text does

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

server::Work pattern_work(const server::Request& request, const std::optional<inspect::MachineRates>& rates) {
  PatternQuestion question = read_question(request);
  pattern::Pattern pattern = pattern::Pattern::parse(question.expression);
  require(!pattern.needs_input() || !question.input.empty(),
          "the expression contains `input`, so it needs positions: 'input', for example [0, 5]");
  server::Work work;
  work.light = true;  // people wait for it while they type, however long the models compute
  work.group = "pattern " + formats::to_json(question).dump(-1, ' ', true, Json::error_handler_t::replace);
  work.texts = {{.first = question.expression}};
  work.cost.tokens = question.length / kTokensOfByte * (question.figures ? question.heads : 1);
  work.compute = [pattern = std::move(pattern), question = std::move(question),
                  rates](std::span<const server::Text> texts) {
    return std::vector<Json>(texts.size(), pattern_answer(pattern, question, rates));
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

void add_pattern_routes(server::Router& router, const std::optional<inspect::MachineRates>& rates) {
  router.add(
      "GET", "/v1/patterns",
      [json = language()](const server::Request&) -> server::Answer { return server::json_reply(json); },
      language_operation());
  router.add(
      "POST", "/v1/pattern",
      [rates](const server::Request& request) -> server::Answer { return pattern_work(request, rates); },
      pattern_operation());
}

}  // namespace weft::page
