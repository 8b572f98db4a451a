// SPDX-License-Identifier: Apache-2.0
// A path of a task alone is there also where several models have it, and says so.
#include "weft/service/served_routes.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/core/version.h"
#include "weft/server/http_error.h"
#include "weft/server/schemas.h"

namespace weft::service {

formats::Json model_list(const std::vector<ServedModel>& models) {
  formats::Json data = formats::Json::array();
  for (const ServedModel& model : models) {
    formats::Json tasks = formats::Json::array();
    for (const auto& [task, served] : model.tasks) {
      tasks.push_back(task);
    }
    data.push_back({{"id", model.name},
                    {"object", "model"},
                    {"kind", model.kind},
                    {"tasks", tasks},
                    {"attention", model.attention.has_value()},
                    {"memory", model.memory}});
  }
  return {{"object", "list"}, {"data", data}};
}

namespace {

// A task's own path where one model has it; where several do, it says which.
ServedTask short_path(const std::string& task, const std::vector<std::string>& names, const ServedTask& only) {
  if (names.size() == 1) {
    return only;
  }
  const std::string message =
      concat("several models can ", task, ": post to /v1/models/NAME/", task, ", NAME one of ", joined(names, ", "));
  const auto refuse = [message](const server::Request&) -> server::Answer {
    throw server::HttpError(server::status::kNotFound, "not_found", message);
  };
  return {refuse, {.summary = message, .body = formats::Json::object(), .status = server::status::kNotFound}};
}

formats::Json account_schema() {
  const formats::Json bytes = {{"type", "integer"}, {"minimum", 0}};
  return server::object_schema({{"weights", bytes},
                                {"packed", bytes},
                                {"layouts", bytes},
                                {"work", bytes},
                                {"total", bytes},
                                {"how", server::string_schema("what 'work' is counted for")}},
                               {"weights", "packed", "layouts", "work", "total", "how"});
}

server::Operation model_list_operation() {
  const formats::Json model = server::object_schema({{"id", server::string_schema("the model's name in paths")},
                                                     {"object", {{"const", "model"}}},
                                                     {"kind", {{"type", "string"}}},
                                                     {"tasks", server::array_schema({{"type", "string"}})},
                                                     {"attention", {{"type", "boolean"}}},
                                                     {"memory", account_schema()}},
                                                    {"id", "object", "kind", "tasks", "attention", "memory"});
  return {.summary = "The models and their tasks.",
          .answer = server::object_schema({{"object", {{"const", "list"}}}, {"data", server::array_schema(model)}},
                                          {"object", "data"})};
}

// LibreTranslate's list, where /translate is one model's, and its key in the body.
void add_languages(server::Router& router, const std::vector<ServedModel>& models) {
  std::vector<formats::Json> found;
  for (const ServedModel& model : models) {
    if (!model.languages.is_null()) {
      found.push_back(model.languages);
      router.take_key_in_body(concat("/v1/models/", model.name, "/translate"));
      router.take_key_in_body("/translate");
    }
  }
  if (found.size() != 1) {
    return;
  }
  const formats::Json text = {{"type", "string"}};
  const formats::Json language = server::object_schema(
      {{"code", text}, {"name", text}, {"targets", server::array_schema(text)}}, {"code", "name", "targets"});
  router.add(
      "GET", "/languages",
      [languages = found.front()](const server::Request&) -> server::Answer { return server::json_reply(languages); },
      {.summary = "Languages of /translate, as LibreTranslate lists them.", .answer = server::array_schema(language)});
  router.open("/languages");
}

// The paths of one model, which name it.
void add_model_routes(server::Router& router, const ServedModel& model) {
  const std::string base = concat("/v1/models/", model.name, "/");
  for (const auto* tasks : {&model.tasks, &model.shapes}) {
    for (const auto& [task, served] : *tasks) {
      router.add("POST", base + task, served.handle, served.operation);
    }
  }
  for (const auto& [task, chosen] : model.chosen) {
    if (!model.tasks.contains(task)) {  // `rerank` takes both shapes there
      router.add("POST", base + task, reads_body(chosen.answer), chosen.operation);
    }
  }
  if (model.attention) {
    router.add("POST", base + "attention", model.attention->handle, model.attention->operation);
  }
}

// Those that name the task alone.
void add_short_routes(server::Router& router, const std::vector<ServedModel>& models) {
  std::map<std::string, std::vector<std::string>> names;
  std::map<std::string, ServedTask> last;
  for (const ServedModel& model : models) {
    for (const auto* tasks : {&model.tasks, &model.shapes}) {
      for (const auto& [task, served] : *tasks) {
        names[task].push_back(model.name);
        last[task] = served;
      }
    }
  }
  for (const auto& [task, served] : last) {
    const ServedTask found = short_path(task, names[task], served);
    router.add("POST", "/" + task, found.handle, found.operation);
  }
}

// The model that a body names, or the only one.
BodyHandler chosen_of(std::map<std::string, BodyHandler> models) {
  return [models = std::move(models)](const formats::Json& body) -> server::Answer {
    const std::optional<std::string> model = requests::optional_text(body, "model");
    const std::string served = joined(models, ", ", [](const auto& entry) { return entry.first; });
    require(model.has_value() || models.size() == 1,
            "the request has no 'model', which says which of several: ", served);
    const auto found = model ? models.find(*model) : models.begin();
    if (found == models.end()) {
      throw server::HttpError(server::status::kNotFound,
                              {.type = "not_found",
                               .message = concat("no model that answers here is called ", quote(*model), "; there is ",
                                                 served, " (weft serve NAME=DIR gives a model its name)"),
                               .param = "model",
                               .code = "model_not_found"});
    }
    return found->second(body);
  };
}

// Paths of other servers where a body says which model it means; there where any model has the task.
void add_chosen_routes(server::Router& router, const std::vector<ServedModel>& models, const std::string& task,
                       const std::vector<const char*>& paths) {
  std::map<std::string, BodyHandler> handlers;
  server::Operation operation;
  for (const ServedModel& model : models) {
    if (const auto found = model.chosen.find(task); found != model.chosen.end()) {
      handlers[model.name] = found->second.answer;
      operation = found->second.operation;
    }
  }
  if (handlers.empty()) {
    return;
  }
  if (handlers.size() > 1) {
    operation.body["required"].push_back("model");
    operation.body["properties"]["model"]["type"] = "string";
  }
  operation.not_found = "'model' is the name of none that can";
  const server::Handler handle = reads_body(chosen_of(std::move(handlers)));
  for (const char* path : paths) {
    router.add("POST", path, handle, operation);
  }
}

// What clients of text-embeddings-inference ask of the only model of a server.
void add_only_routes(server::Router& router, const ServedModel& model, const server::ServerConfig& config) {
  if (model.root) {
    router.add("POST", "/", model.root->handle, model.root->operation);
  }
  if (model.info.is_null()) {
    return;
  }
  formats::Json info = {{"model_id", model.name}, {"model_sha", nullptr}};
  info.update(model.info);
  info.update({{"served_model_name", model.name},
               {"max_concurrent_requests", config.max_in_flight},
               {"max_batch_tokens", config.max_batch_bytes},
               {"max_batch_requests", config.max_batch_texts},
               {"max_client_batch_size", config.max_request_texts},
               {"auto_truncate", false},
               {"tokenization_workers", 1},
               {"version", std::string(weft::kVersion)},
               {"sha", nullptr},
               {"docker_label", nullptr}});
  router.add("GET", "/info", [info](const server::Request&) -> server::Answer { return server::json_reply(info); },
             {.summary = "The model, as text-embeddings-inference describes it.", .answer = {{"type", "object"}}});
}

// Errors in the shapes of the APIs whose paths these are.
void shape_errors(server::Router& router) {
  for (const char* path : {"/v1/embeddings", "/embeddings", "/v1/models/*/embeddings"}) {
    router.shape_errors(path, server::ErrorShape::kOpenAi);
  }
  for (const char* path : {"/v1/rerank", "/v2/rerank"}) {
    router.shape_errors(path, server::ErrorShape::kRerank);
  }
}

}  // namespace

server::Router routes_of(const std::vector<ServedModel>& models, const server::ServerConfig& config) {
  server::Router router;
  shape_errors(router);
  for (const ServedModel& model : models) {
    add_model_routes(router, model);
  }
  add_short_routes(router, models);
  add_chosen_routes(router, models, "embeddings", {"/v1/embeddings", "/embeddings"});
  add_chosen_routes(router, models, "rerank", {"/v1/rerank", "/v2/rerank"});
  if (models.size() == 1) {
    add_only_routes(router, models.front(), config);
  }
  add_languages(router, models);
  router.add(
      "GET", "/v1/models",
      [list = model_list(models)](const server::Request&) -> server::Answer { return server::json_reply(list); },
      model_list_operation());
  return router;
}

}  // namespace weft::service
