// SPDX-License-Identifier: Apache-2.0
// The words of OpenAI's "type" and "code" are those that its own server gives with the same status.
#include "weft/server/forms/error_shape.h"

#include "weft/server/http_error.h"
#include "weft/server/schemas.h"

namespace weft::server {
namespace {

using formats::Json;

const char* open_ai_type(int status) {
  if (status == status::kTooMany) {
    return "rate_limit_error";
  }
  return status >= status::kInternal ? "server_error" : "invalid_request_error";
}

std::string open_ai_code(int status, const Failure& failure) {
  if (!failure.code.empty()) {
    return failure.code;
  }
  switch (status) {
    case status::kUnauthorized:
      return "invalid_api_key";
    case status::kTooMany:
      return "rate_limit_exceeded";
    default:
      return failure.type;
  }
}

Json error_json(int status, const Failure& failure, ErrorShape shape) {
  switch (shape) {
    case ErrorShape::kOpenAi:
      return {{"error",
               {{"message", failure.message},
                {"type", open_ai_type(status)},
                {"param", failure.param.empty() ? Json() : Json(failure.param)},
                {"code", open_ai_code(status, failure)}}}};
    case ErrorShape::kRerank:
      return {{"message", failure.message}, {"detail", failure.message}};
    case ErrorShape::kPlain:
      break;
  }
  return {{"error", failure.message}, {"error_type", failure.type}};
}

}  // namespace

void shape_error(Reply& reply, ErrorShape shape) {
  if (reply.failure) {
    const Json json = error_json(reply.status, *reply.failure, shape);
    reply.body = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
}

const char* error_schema_name(ErrorShape shape) {
  switch (shape) {
    case ErrorShape::kOpenAi:
      return "OpenAiError";
    case ErrorShape::kRerank:
      return "RerankError";
    case ErrorShape::kPlain:
      break;
  }
  return "Error";
}

Json error_schema(ErrorShape shape) {
  const Json message = string_schema("what is wrong, in one line");
  const Json word = string_schema("a word that a program may look at");
  switch (shape) {
    case ErrorShape::kOpenAi: {
      Json param = string_schema("the member of the request that is wrong");
      param["type"] = Json::array({"string", "null"});
      return object_schema(
          {{"error", object_schema({{"message", message}, {"type", word}, {"param", param}, {"code", word}},
                                   {"message", "type", "param", "code"})}},
          {"error"});
    }
    case ErrorShape::kRerank:
      return object_schema({{"message", message}, {"detail", message}}, {"message", "detail"});
    case ErrorShape::kPlain:
      break;
  }
  return object_schema({{"error", message}, {"error_type", word}}, {"error", "error_type"});
}

}  // namespace weft::server
