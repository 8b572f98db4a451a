// SPDX-License-Identifier: Apache-2.0
// What a reader waits for is drawn beside the small pictures of the grid, which wait for each other.
#include "weft/viewer/served_view.h"

#include <optional>
#include <string_view>
#include <utility>

#include "weft/page/viewer_files.h"
#include "weft/server/schemas.h"
#include "weft/viewer/page.h"

namespace weft::viewer {
namespace {

using formats::Json;
using SharedView = std::shared_ptr<const ServedView>;

constexpr const char* kViewPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

// Whether it waits for its turn behind others of its kind.
bool is_patient(const HeadQuestion& question) { return question.patient; }
bool is_patient(const TileQuestion& /*question*/) { return false; }
bool is_patient(const RowQuestion& /*question*/) { return false; }

// The same for all questions with one answer.
std::string question_name(HeadQuestion question) {
  question.patient = false;
  return "head " + formats::to_json(question).dump();
}
std::string question_name(const TileQuestion& question) { return "tile " + formats::to_json(question).dump(); }
std::string question_name(const RowQuestion& question) { return "row " + formats::to_json(question).dump(); }

template <typename Question>
Json draw_and_keep(const ServedView& served, const Question& question,
                   Json (*draw)(const ServedView& served, const Question& question)) {
  Json answer = draw(served, question);
  served.drawn->keep(question_name(question), server::json_reply(answer).body);
  return answer;
}

template <typename Question>
server::Handler drawing(const SharedView& served, Json (*draw)(const ServedView&, const Question&)) {
  return [served, draw](const server::Request& request) -> server::Answer {
    Question question;
    formats::update_from_json(question, server::json_object(request), "the request");
    check_fields(question, "the request");
    check_head(*served, question.part, question.head);  // a mistake is answered before it waits
    if (std::optional<std::string> known = served->drawn->find(question_name(question))) {
      return server::Reply{.body = std::move(*known)};
    }
    server::Work work{.group = "view"};
    work.light = !is_patient(question) && !is_rollout(*served, question.part);
    work.run = [served, draw, question](const server::Listener& /*listener*/) {
      return draw_and_keep(*served, question, draw);
    };
    return work;
  };
}

template <typename Question>
server::Operation drawing_operation(const char* summary, const Json& answer, const std::vector<std::string>& required) {
  return {.summary = summary,
          .body = server::object_schema(server::properties_of<Question>()),
          .answer = server::open_object_schema(answer, required)};
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
  add_file(router, "/viewer.js", "text/javascript; charset=utf-8", std::string(page::viewer_script()));
  add_file(router, "/viewer.css", "text/css; charset=utf-8",
           std::string(page::base_style()) + std::string(page::viewer_style()));
  router.add("GET", "/v1/view", [view](const server::Request&) -> server::Answer { return server::json_reply(view); },
             {.summary = "The texts, and the parts of the model that have heads to draw.",
              .answer = server::open_object_schema({{"parts", server::array_schema(Json::object())}}, {"parts"})});
  const Json cells = {{"mean", {{"type", "string"}}}, {"largest", {{"type", "string"}}}};
  router.add("POST", "/v1/head", drawing<HeadQuestion>(served, head_of),
             drawing_operation<HeadQuestion>("A whole head: its cells, and the strongest keys of each row.", cells,
                                             {"mean", "largest"}));
  router.add("POST", "/v1/tile", drawing<TileQuestion>(served, tile_of),
             drawing_operation<TileQuestion>("A part of a head in smaller cells.", cells, {"mean", "largest"}));
  router.add("POST", "/v1/row", drawing<RowQuestion>(served, row_of),
             drawing_operation<RowQuestion>("The strongest keys of one row, and their weights.",
                                            {{"keys", server::array_schema({{"type", "integer"}})},
                                             {"weights", server::array_schema({{"type", "number"}})}},
                                            {"keys", "weights"}));
  return router;
}

void draw_first_head(const ServedView& served) {
  for (std::size_t part = 0; part < served.view.parts.size(); ++part) {
    if (!served.view.parts[part].heads.empty()) {
      draw_and_keep(served, HeadQuestion{.part = static_cast<std::int64_t>(part), .rows = false}, head_of);
      return;
    }
  }
}

}  // namespace weft::viewer
