// SPDX-License-Identifier: Apache-2.0
// One path item a path, one operation a method. The errors of a path have one shape.
#include "weft/server/openapi.h"

#include <algorithm>
#include <cctype>

#include "weft/core/error.h"
#include "weft/core/version.h"
#include "weft/server/forms/error_shape.h"
#include "weft/server/http_error.h"
#include "weft/server/schemas.h"

namespace weft::server {
namespace {

using formats::Json;

constexpr const char* kKey = "key";
constexpr int kOk = 200;

struct StatusLine {
  int status;
  const char* meaning;
  bool computed;  // only where a model computes
};

constexpr StatusLine kErrors[] = {
    {status::kBadRequest, "the request breaks a rule of HTTP, of this API or of the model", false},
    {status::kForbidden, "Host or Origin is foreign", false},
    {status::kTooLarge, "the body is longer than the server's limit, or a text longer than its model takes", true},
    {status::kHeadTooLarge, "the head is longer than the server's limit", false},
    {422, "the model cannot do that", true},
    {424, "the model gave numbers that are not finite", true},
    {status::kTooMany, "too many requests are waiting; Retry-After says when to try again", true},
    {status::kInternal, "the server has an error; its log has the reason", false},
    {status::kUnavailable, "the server is stopping, memory is short, or the answer took too long", false},
};

Json error_response(const std::string& meaning, ErrorShape shape) {
  const std::string schema = concat("#/components/schemas/", error_schema_name(shape));
  return {{"description", meaning}, {"content", {{"application/json", {{"schema", {{"$ref", schema}}}}}}}};
}

Json good_response(const Operation& operation) {
  const Json schema = operation.answer.is_null() ? Json{{"type", "string"}} : operation.answer;
  Json content = {{operation.type, {{"schema", schema}}}};
  if (!operation.piece.is_null()) {
    content["text/event-stream"] = {
        {"schema", string_schema("Events whose data are JSON: pieces, then one named result with the whole answer, or "
                                 "one named error.")},
        {"x-piece", operation.piece}};
  }
  return {{"description", "the answer"}, {"content", content}};
}

Json responses_of(const Operation& operation, bool needs_key, ErrorShape shape) {
  Json responses = Json::object();
  if (operation.status == kOk) {
    responses[std::to_string(kOk)] = good_response(operation);
  } else {
    responses[std::to_string(operation.status)] = error_response("always", shape);
  }
  for (const StatusLine& line : kErrors) {
    if (!line.computed || !operation.body.is_null()) {
      responses[std::to_string(line.status)] = error_response(line.meaning, shape);
    }
  }
  if (!operation.not_found.empty()) {
    responses[std::to_string(status::kNotFound)] = error_response(operation.not_found, shape);
  }
  if (needs_key) {
    responses[std::to_string(status::kUnauthorized)] = error_response("there is no valid key", shape);
  }
  return responses;
}

Json operation_json(const std::string& name, const Operation& operation, bool needs_key, ErrorShape shape) {
  Json json = {{"operationId", name}, {"summary", operation.summary}};
  if (!operation.body.is_null()) {
    json["requestBody"] = {{"required", true}, {"content", {{"application/json", {{"schema", operation.body}}}}}};
  }
  json["responses"] = responses_of(operation, needs_key, shape);
  if (needs_key) {
    json["security"] = Json::array({Json{{kKey, Json::array()}}});
  }
  return json;
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return text;
}

}  // namespace

Json openapi(const Router& router, bool keys) {
  Json paths = Json::object();
  for (const auto& [path, methods] : router.routes()) {
    for (const auto& [method, route] : methods) {
      if (route.operation.summary.empty()) {
        continue;  // a file of a page
      }
      paths[path][lower_case(method)] = operation_json(concat(method, " ", path), route.operation,
                                                       keys && !router.is_open(method, path), router.error_shape(path));
    }
  }
  Json components = {{"schemas", Json::object()}};
  for (const ErrorShape shape : kErrorShapes) {
    components["schemas"][error_schema_name(shape)] = error_schema(shape);
  }
  if (keys) {
    components["securitySchemes"] = {{kKey, {{"type", "http"}, {"scheme", "bearer"}}}};
  }
  return {
      {"openapi", "3.1.0"},
      {"info", {{"title", "Weft"}, {"version", std::string(weft::kVersion)}, {"license", {{"name", "Apache-2.0"}}}}},
      {"paths", paths},
      {"components", components}};
}

}  // namespace weft::server
