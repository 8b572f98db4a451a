// SPDX-License-Identifier: Apache-2.0
// Which path is which task of which model, with models that answer by their names.
#include "weft/service/served_routes.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/server/http_error.h"

namespace weft::service {
namespace {

using formats::Json;
using test::expect_error;

ServedTask task_of(const std::string& name) {
  return {[name](const server::Request&) -> server::Answer { return server::json_reply({{"by", name}}); }, {}};
}

ServedModel model_with(const std::string& name, const std::vector<std::string>& tasks) {
  ServedModel model{.name = name, .kind = "encoder"};
  for (const std::string& task : tasks) {
    model.tasks[task] = task_of(name);
  }
  return model;
}

ServedModel embedder(const std::string& name) {
  ServedModel model = model_with(name, {"embed"});
  model.chosen["embeddings"] = {[name](const Json&) -> server::Answer { return server::json_reply({{"by", name}}); },
                                {.body = {{"required", Json::array()}, {"properties", {{"model", Json::object()}}}}}};
  return model;
}

Json ask(const server::Router& router, const std::string& method, const std::string& path, const Json& body = {}) {
  const server::Answer answer =
      router.find(method, path).handle({.method = method, .path = path, .body = body.is_null() ? "" : body.dump()});
  return Json::parse(std::get<server::Reply>(answer).body);
}

server::Failure failure_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const server::HttpError& error) {
    server::Failure failure = error.failure();
    failure.type = concat(error.status(), " ", failure.type);
    return failure;
  }
  ADD_FAILURE() << "no HttpError was thrown";
  return {};
}

TEST(ServedRoutes, OneModelNeedsNoName) {
  const server::Router router = routes_of({model_with("labels", {"classify"})}, {});
  EXPECT_EQ(ask(router, "POST", "/classify")["by"], "labels");
  EXPECT_EQ(ask(router, "POST", "/v1/models/labels/classify")["by"], "labels");
  EXPECT_EQ(failure_of([&] { router.find("POST", "/v1/models/other/classify"); }).type, "404 not_found");
}

TEST(ServedRoutes, ATaskOfSeveralModelsSaysWhereTheyAre) {
  const server::Router router = routes_of({model_with("a", {"classify", "tag"}), model_with("b", {"classify"})}, {});
  EXPECT_EQ(ask(router, "POST", "/v1/models/b/classify")["by"], "b");
  EXPECT_EQ(ask(router, "POST", "/tag")["by"], "a");
  const server::Failure failure = failure_of([&] { ask(router, "POST", "/classify"); });
  EXPECT_EQ(failure.type, "404 not_found");
  EXPECT_EQ(failure.message, "several models can classify: post to /v1/models/NAME/classify, NAME one of a, b");
  EXPECT_EQ(router.find("POST", "/classify").operation.status, 404);
}

TEST(ServedRoutes, ABodyChoosesAmongModels) {
  const server::Router one = routes_of({embedder("a")}, {});
  EXPECT_EQ(ask(one, "POST", "/v1/embeddings", Json::object())["by"], "a");
  const server::Router two = routes_of({embedder("a"), embedder("b")}, {});
  EXPECT_EQ(ask(two, "POST", "/v1/embeddings", {{"model", "b"}})["by"], "b");
  EXPECT_EQ(two.find("POST", "/embeddings").operation.body["required"], Json::array({"model"}));
  expect_error(ErrorKind::kArgument, {"no 'model'", "a, b"}, [&] { ask(two, "POST", "/embeddings", Json::object()); });
  const server::Failure failure = failure_of([&] { ask(two, "POST", "/embeddings", {{"model", "c"}}); });
  EXPECT_EQ(failure.type, "404 not_found");
  EXPECT_EQ(failure.code, "model_not_found");
  EXPECT_EQ(failure.param, "model");
  EXPECT_EQ(two.error_shape("/v1/embeddings"), server::ErrorShape::kOpenAi);
}

TEST(ServedRoutes, LanguagesAreThoseOfTheOnlyTranslator) {
  ServedModel translator = model_with("de-en", {"translate"});
  translator.languages = Json::array({Json{{"code", "de"}, {"name", "de"}, {"targets", {"en"}}}});
  const server::Router one = routes_of({translator, model_with("labels", {"classify"})}, {});
  EXPECT_EQ(ask(one, "GET", "/languages"), translator.languages);
  EXPECT_TRUE(one.is_open("GET", "/languages"));
  EXPECT_TRUE(one.takes_key_in_body("/translate"));
  ServedModel other = translator;
  other.name = "de-fr";
  const server::Router two = routes_of({translator, other}, {});
  EXPECT_EQ(failure_of([&] { two.find("GET", "/languages"); }).type, "404 not_found");
}

TEST(ServedRoutes, TheListOfModels) {
  ServedModel model = model_with("labels", {"tag", "classify"});
  model.memory = {{"total", 3}};
  const Json list = ask(routes_of({model}, {}), "GET", "/v1/models");
  EXPECT_EQ(list, Json::parse(R"({"object": "list", "data": [{"id": "labels", "object": "model", "kind": "encoder",
      "tasks": ["classify", "tag"], "attention": false, "memory": {"total": 3}}]})"));
}

}  // namespace
}  // namespace weft::service
