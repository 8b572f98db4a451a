// SPDX-License-Identifier: Apache-2.0
// The description of a router: every route, its errors, its key; and schemas of settings.
#include "weft/server/openapi.h"

#include <gtest/gtest.h>

#include "weft/server/message.h"
#include "weft/server/schemas.h"

namespace weft::server {
namespace {

using formats::Json;

struct Settings {
  std::int64_t top_k = 5;
  std::string strategy = "simple";
  std::vector<std::string> labels = {"O"};
  std::vector<std::int64_t> layers;
  std::int64_t seed = 0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(Field{"top_k", &Settings::top_k, "how many"}.range(1, 10));
    visit(Field{"strategy", &Settings::strategy, "how"}.one_of({"none", "simple"}));
    visit(Field{"labels", &Settings::labels, "which"});
    visit(Field{"layers", &Settings::layers, "where"});
    visit(Field{"seed", &Settings::seed, "what"});
  }
};

Router some_router() {
  const auto handler = [](const Request&) -> Answer { return Reply{}; };
  Router router;
  router.add("GET", "/health", handler, {.summary = "Health.", .answer = {{"type", "object"}}});
  router.add("POST", "/tag", handler,
             {.summary = "Tags.", .body = {{"type", "object"}}, .answer = {{"type", "array"}}});
  router.add("GET", "/tag", handler, {.summary = "A page.", .type = "text/html"});
  router.add("POST", "/embed", handler, {.summary = "Several.", .body = Json::object(), .status = 404});
  router.open("/health");
  return router;
}

TEST(OpenApi, EveryRouteIsThere) {
  const Router router = some_router();
  const Json found = openapi(router, false);
  EXPECT_EQ(found["openapi"], "3.1.0");
  EXPECT_EQ(found["paths"].size(), router.routes().size());
  for (const auto& [path, methods] : router.routes()) {
    EXPECT_EQ(found["paths"][path].size(), methods.size()) << path;
  }
  const Json& tag = found["paths"]["/tag"]["post"];
  EXPECT_EQ(tag["summary"], "Tags.");
  EXPECT_EQ(tag["requestBody"]["content"]["application/json"]["schema"]["type"], "object");
  EXPECT_EQ(tag["responses"]["200"]["content"]["application/json"]["schema"]["type"], "array");
  EXPECT_TRUE(tag["responses"].contains("429"));
  EXPECT_FALSE(tag["responses"].contains("401"));
  const Json& page = found["paths"]["/tag"]["get"];
  EXPECT_TRUE(page["responses"]["200"]["content"].contains("text/html"));
  EXPECT_FALSE(page["responses"].contains("429"));
  EXPECT_FALSE(page.contains("requestBody"));
  EXPECT_FALSE(found["paths"]["/embed"]["post"]["responses"].contains("200"));
  EXPECT_TRUE(found["paths"]["/embed"]["post"]["responses"].contains("404"));
}

TEST(OpenApi, KeysAreAskedForWhereTheyAre) {
  const Json found = openapi(some_router(), true);
  EXPECT_TRUE(found["components"].contains("securitySchemes"));
  EXPECT_TRUE(found["paths"]["/tag"]["post"].contains("security"));
  EXPECT_TRUE(found["paths"]["/tag"]["post"]["responses"].contains("401"));
  EXPECT_FALSE(found["paths"]["/health"]["get"].contains("security"));
}

TEST(Schemas, FieldsAndTheirRules) {
  const Json found = properties_of<Settings>();
  EXPECT_EQ(found.dump(),
            R"({"top_k":{"type":"integer","description":"how many","minimum":1,"maximum":10,"default":5},)"
            R"("strategy":{"type":"string","description":"how","enum":["none","simple"],"default":"simple"},)"
            R"("labels":{"type":["string","array"],"items":{"type":"string"},"description":"which","default":["O"]},)"
            R"("layers":{"type":"array","items":{"type":"integer","minimum":-9223372036854775808,)"
            R"("maximum":9223372036854775807},"description":"where","default":[]},)"
            R"("seed":{"type":"integer","description":"what","minimum":-9223372036854775808,)"
            R"("maximum":9223372036854775807,"default":0}})");
  EXPECT_EQ(object_schema(Json::object(), {"a"}).dump(),
            R"({"type":"object","properties":{},"additionalProperties":false,"required":["a"]})");
  EXPECT_EQ(one_or_list_schema({{"type", "string"}}).dump(),
            R"({"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"},"minItems":1}]})");
}

// Numbers without a fraction are integers, wherever they stand and however they are written; others are none.
TEST(Schemas, ChecksTakeWhatTheySay) {
  const auto read = [](const std::string& body) {
    Settings settings;
    formats::update_from_json(settings, json_object({.body = body}), "the request");
    return settings;
  };
  const Settings settings = read(R"({"top_k": 3.0, "seed": -1e3, "layers": [1.0, 2], "labels": "B"})");
  EXPECT_EQ(settings.top_k, 3);
  EXPECT_EQ(settings.seed, -1000);
  EXPECT_EQ(settings.layers, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(settings.labels, (std::vector<std::string>{"B"}));
  for (const char* body : {R"({"top_k": "3"})", R"({"top_k": 3.5})", R"({"top_k": 11.0})", R"({"seed": 1e19})",
                           R"({"seed": 9223372036854775808.0})", R"({"layers": 1})", R"({"layers": ["1"]})",
                           R"({"labels": [1.0]})", R"({"strategy": 1.0})"}) {
    EXPECT_THROW(read(body), Error) << body;
  }
}

}  // namespace
}  // namespace weft::server
