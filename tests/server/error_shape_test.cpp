// SPDX-License-Identifier: Apache-2.0
// The same failures in the shapes of several APIs, and which path has which.
#include "weft/server/forms/error_shape.h"

#include <string>

#include <gtest/gtest.h>

#include "weft/core/error.h"
#include "weft/server/http_error.h"
#include "weft/server/openapi.h"
#include "weft/server/router.h"

namespace weft::server {
namespace {

using formats::Json;

Json shaped(Reply reply, ErrorShape shape) {
  shape_error(reply, shape);
  return Json::parse(reply.body);
}

// What OpenAI's own server answers with these statuses.
TEST(ErrorShape, OpenAi) {
  const auto error = [](const Reply& reply) { return shaped(reply, ErrorShape::kOpenAi)["error"]; };
  const Json invalid = error(error_reply(Error(ErrorKind::kArgument, "why", "what next")));
  EXPECT_EQ(invalid["message"], "why; what next");
  EXPECT_EQ(invalid["type"], "invalid_request_error");
  EXPECT_TRUE(invalid["param"].is_null());
  EXPECT_EQ(invalid["code"], "validation");
  EXPECT_EQ(error(error_reply(401, "unauthorized", "no key"))["code"], "invalid_api_key");
  EXPECT_EQ(error(error_reply(429, "overloaded", "wait"))["type"], "rate_limit_error");
  EXPECT_EQ(error(error_reply(429, "overloaded", "wait"))["code"], "rate_limit_exceeded");
  EXPECT_EQ(error(error_reply(503, "unavailable", "gone"))["type"], "server_error");
  const HttpError missing(404, {.type = "not_found", .message = "no", .param = "model", .code = "model_not_found"});
  EXPECT_EQ(error(error_reply(missing))["param"], "model");
  EXPECT_EQ(error(error_reply(missing))["code"], "model_not_found");
}

TEST(ErrorShape, OthersAndRepliesThatAreNone) {
  const Reply reply = error_reply(413, "too_large", "a \xff byte");
  EXPECT_EQ(shaped(reply, ErrorShape::kPlain).dump(), R"({"error":"a � byte","error_type":"too_large"})");
  EXPECT_EQ(shaped(reply, ErrorShape::kRerank).dump(), R"({"message":"a � byte","detail":"a � byte"})");
  Reply good = json_reply({{"error", "is a member of an answer"}});
  const std::string body = good.body;
  shape_error(good, ErrorShape::kOpenAi);
  EXPECT_EQ(good.body, body);
}

TEST(ErrorShape, PathsHaveOneWhetherOrNotTheyAreThere) {
  Router router;
  router.shape_errors("/v1/embeddings", ErrorShape::kOpenAi);
  router.shape_errors("/v1/models/*/embeddings", ErrorShape::kOpenAi);
  for (const char* path : {"/v1/embeddings", "/v1/models/a/embeddings", "/v1/models/none/embeddings"}) {
    EXPECT_EQ(router.error_shape(path), ErrorShape::kOpenAi) << path;
  }
  for (const char* path : {"", "/", "/v1", "/v1/embeddings/more", "/v1/models/embeddings", "/v1/models/a/b/embeddings",
                           "/v1/embedding", "/x/v1/embeddings", "//v1/embeddings", "embeddings"}) {
    EXPECT_EQ(router.error_shape(path), ErrorShape::kPlain) << path;
  }
}

TEST(ErrorShape, DescriptionsNameThem) {
  Router router;
  router.add(
      "POST", "/v1/embeddings", [](const Request&) -> Answer { return Reply{}; },
      {.summary = "Vectors.", .body = {{"type", "object"}}, .answer = {{"type", "object"}}, .not_found = "never"});
  router.shape_errors("/v1/embeddings", ErrorShape::kOpenAi);
  const Json found = openapi(router, true);
  const Json& responses = found["paths"]["/v1/embeddings"]["post"]["responses"];
  for (const char* status : {"400", "401", "404", "429", "503"}) {
    EXPECT_EQ(responses[status]["content"]["application/json"]["schema"]["$ref"], "#/components/schemas/OpenAiError")
        << status;
  }
  EXPECT_TRUE(found["components"]["schemas"].contains("OpenAiError"));
}

}  // namespace
}  // namespace weft::server
