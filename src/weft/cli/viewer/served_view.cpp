// SPDX-License-Identifier: Apache-2.0
// Drawing is work for the one thread that computes; everything else is answered at once.
#include "weft/cli/viewer/served_view.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "weft/cli/report/html.h"
#include "weft/cli/viewer/assets.h"
#include "weft/cli/viewer/cell_codes.h"
#include "weft/cli/viewer/page.h"
#include "weft/core/error.h"
#include "weft/server/schemas.h"

namespace weft::cli {
namespace {

using formats::Json;
using SharedView = std::shared_ptr<const ServedView>;

constexpr const char* kViewPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

// Which head; of a tile also where it begins and how finely it is drawn.
struct HeadQuestion {
  std::int64_t part = 0;
  std::int64_t head = 0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = HeadQuestion;
    visit(Field{"part", &C::part, "number of the part in the list of GET /v1/view"}.range(0, 1 << 20));
    visit(Field{"head", &C::head, "number of the head in the list of its part"}.range(0, 1 << 20));
  }
};

struct TileQuestion {
  std::int64_t part = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t cell = 1;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = TileQuestion;
    constexpr std::int64_t kFurthest = std::int64_t{1} << 31;
    visit(Field{"part", &C::part, "number of the part in the list of GET /v1/view"}.range(0, 1 << 20));
    visit(Field{"head", &C::head, "number of the head in the list of its part"}.range(0, 1 << 20));
    visit(Field{"row", &C::row, "first query, a multiple of the cell"}.range(0, kFurthest));
    visit(Field{"column", &C::column, "first key, a multiple of the cell"}.range(0, kFurthest));
    visit(Field{"cell", &C::cell, "tokens on each side of a cell, a power of two"}.range(1, kFurthest));
  }
};

struct Sizes {
  std::int64_t queries;
  std::int64_t keys;
};

Sizes sizes_of(const ServedView& served, const tasks::ViewedPart& part) {
  const auto length = [&](bool target) {
    return static_cast<std::int64_t>((target ? served.view.target : served.view.source).tokens.size());
  };
  return {length(part.from_target), length(part.to_target)};
}

std::int64_t cells_in(std::int64_t length, std::int64_t cell) { return (length + cell - 1) / cell; }

const tasks::ViewedPart& part_of_view(const ServedView& served, std::int64_t part, std::int64_t head) {
  require(part < std::ssize(served.view.parts), "'part' must be below ", served.view.parts.size(), ", found ", part);
  const tasks::ViewedPart& found = served.view.parts[static_cast<std::size_t>(part)];
  require(head < std::ssize(found.heads), "'head' must be below ", found.heads.size(), " for part ", part, ", found ",
          head);
  return found;
}

Json head_of(const ServedView& served, const HeadQuestion& question) {
  const tasks::ViewedPart& part = part_of_view(served, question.part, question.head);
  const auto [queries, keys] = sizes_of(served, part);
  attention::HeadPicture picture = served.kept->draw(
      static_cast<std::size_t>(question.part), {.head = part.heads[static_cast<std::size_t>(question.head)].number,
                                                .cell = part.cell,
                                                .query_end = queries,
                                                .keys = keys,
                                                .top = served.top});
  const std::int64_t columns = cells_in(keys, part.cell);
  picture.mean = picture.mean.narrow(1, 0, columns);
  picture.largest = picture.largest.narrow(1, 0, columns);
  picture.edges = picture.edges.narrow(1, 0, columns);
  picture.key = picture.key.narrow(0, 0, keys);
  return picture_json(picture);
}

Json tile_of(const ServedView& served, const TileQuestion& question) {
  const tasks::ViewedPart& part = part_of_view(served, question.part, question.head);
  const auto [queries, keys] = sizes_of(served, part);
  const std::int64_t cell = question.cell;
  require(cell <= part.cell && (cell & (cell - 1)) == 0, "'cell' must be a power of two of at most ", part.cell,
          ", found ", cell);
  require(question.row % cell == 0 && question.row < queries, "'row' must be a multiple of ", cell, " below ", queries,
          ", found ", question.row);
  require(question.column % cell == 0 && question.column < keys, "'column' must be a multiple of ", cell, " below ",
          keys, ", found ", question.column);
  const std::int64_t end = std::min(queries, question.row + served.cells * cell);
  const attention::HeadPicture picture = served.kept->draw(
      static_cast<std::size_t>(question.part), {.head = part.heads[static_cast<std::size_t>(question.head)].number,
                                                .cell = cell,
                                                .query_begin = question.row,
                                                .query_end = end,
                                                .keys = keys});
  const std::int64_t first = question.column / cell;
  const std::int64_t columns = std::min(served.cells, cells_in(keys, cell) - first);
  Json json = cells_json(picture, first, columns);
  json.update({{"row", question.row},
               {"column", question.column},
               {"cell", cell},
               {"rows", picture.mean.size(0)},
               {"columns", columns}});
  return json;
}

// What attention_data() says of parts with pictures, of parts without.
Json view_json(const ServedView& served) {
  tasks::AttentionView unseen = served.view;  // texts, and the lines about parts without weights
  std::erase_if(unseen.parts, [](const tasks::ViewedPart& part) { return !part.heads.empty(); });
  Json data = attention_data(unseen);
  data["cells"] = served.cells;
  // Parts keep their numbers: those without heads are null.
  for (const tasks::ViewedPart& part : served.view.parts) {
    if (part.heads.empty()) {
      data["parts"].push_back(nullptr);
      continue;
    }
    const auto [queries, keys] = sizes_of(served, part);
    Json heads = Json::array();
    for (const tasks::ViewedHead& head : part.heads) {
      heads.push_back({{"head", head.number}});
    }
    data["parts"].push_back({{"name", part.name},
                             {"expression", part.expression},
                             {"query_text", part.from_target ? "target" : "source"},
                             {"key_text", part.to_target ? "target" : "source"},
                             {"all_heads", part.all_heads},
                             {"cell", part.cell},
                             {"queries", queries},
                             {"keys", keys},
                             {"rows", cells_in(queries, part.cell)},
                             {"columns", cells_in(keys, part.cell)},
                             {"top", served.top},
                             {"heads", std::move(heads)}});
  }
  return data;
}

template <typename Question>
server::Handler drawing(const SharedView& served, Json (*draw)(const ServedView&, const Question&)) {
  return [served, draw](const server::Request& request) -> server::Answer {
    Question question;
    formats::update_from_json(question, server::json_object(request), "the request");
    check_fields(question, "the request");
    part_of_view(*served, question.part, question.head);  // a mistake is answered before it waits
    server::Work work{.group = "view"};
    work.run = [served, draw, question](const server::Listener& /*listener*/) { return draw(*served, question); };
    return work;
  };
}

template <typename Question>
server::Operation drawing_operation(const char* summary) {
  return {.summary = summary,
          .body = server::object_schema(server::properties_of<Question>()),
          .answer = server::open_object_schema({{"mean", {{"type", "string"}}}, {"largest", {{"type", "string"}}}},
                                               {"mean", "largest"})};
}

void add_file(server::Router& router, const std::string& path, const std::string& type, std::string content) {
  router.open(path);
  router.add("GET", path,
             [type, content = std::move(content)](const server::Request&) -> server::Answer {
               return server::Reply{
                   .body = content,
                   .type = type,
                   .headers = {{"Content-Security-Policy", kViewPolicy}, {"Referrer-Policy", "no-referrer"}}};
             },
             {});
}

}  // namespace

server::Router view_routes(std::shared_ptr<const ServedView> served) {
  server::Router router;
  const Json view = view_json(*served);
  add_file(router, "/", "text/html; charset=utf-8", served_page(view["unseen"], served->model));
  add_file(router, "/viewer.js", "text/javascript; charset=utf-8", std::string(viewer_script()));
  add_file(router, "/viewer.css", "text/css; charset=utf-8", std::string(page_style()) + std::string(viewer_style()));
  router.add("GET", "/v1/view", [view](const server::Request&) -> server::Answer { return server::json_reply(view); },
             {.summary = "The texts, and the parts of the model that have heads to draw.",
              .answer = server::open_object_schema({{"parts", server::array_schema(Json::object())}}, {"parts"})});
  router.add("POST", "/v1/head", drawing<HeadQuestion>(served, head_of),
             drawing_operation<HeadQuestion>("A whole head: its cells, and the strongest keys of each row."));
  router.add("POST", "/v1/tile", drawing<TileQuestion>(served, tile_of),
             drawing_operation<TileQuestion>("A part of a head in smaller cells."));
  return router;
}

}  // namespace weft::cli
