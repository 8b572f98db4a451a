// SPDX-License-Identifier: Apache-2.0
// What OpenAI's clients leave out they may also send as null.
#include "weft/requests/shapes/embeddings_shape.h"

#include <functional>
#include <utility>

#include "weft/core/quote.h"
#include "weft/requests/request_body.h"
#include "weft/requests/shapes/vector_result.h"
#include "weft/server/http_error.h"
#include "weft/server/schemas.h"

namespace weft::requests {
namespace {

using formats::Json;

constexpr std::int64_t kMostUsed = std::int64_t{1} << 40;

// What `read` gives; its error is one about the member `param`.
template <typename Read>
auto of_param(const char* param, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    const std::string hint = error.hint().empty() ? "" : "; " + error.hint();
    throw server::HttpError(server::status::kBadRequest,
                            {.type = "validation", .message = error.what() + hint, .param = param});
  }
}

bool wants_base64(const Json& body) {
  const std::string format = optional_text(body, "encoding_format").value_or("float");
  require(format == "float" || format == "base64",
          "'encoding_format' must be one of the strings float and base64, found ", Quoted(format));
  return format == "base64";
}

}  // namespace

EmbeddingsRequest read_embeddings_request(const Json& body, const EmbedderFacts& facts) {
  require_known_members(body, {"input", "model", "encoding_format", "dimensions", "user", "prompt_name"});
  EmbeddingsRequest request;
  request.inputs = of_param("input", [&] { return read_embed_inputs(body, "input", facts); });
  request.base64 = of_param("encoding_format", [&] { return wants_base64(body); });
  request.dimensions = of_param("dimensions", [&] { return optional_count(body, "dimensions", 1, facts.width); });
  request.prompt_name = of_param("prompt_name", [&] { return read_prompt_name(body, facts); });
  of_param("model", [&] { return optional_text(body, "model"); });
  of_param("user", [&] { return optional_text(body, "user"); });
  return request;
}

Json embeddings_answer(const std::string& model, std::span<const Json> results, bool base64) {
  Json data = Json::array();
  for (const Json& result : results) {
    Json vector = base64 ? Json(vector_base64(result)) : vector_numbers(result);
    data.push_back({{"object", "embedding"}, {"index", data.size()}, {"embedding", std::move(vector)}});
  }
  const std::int64_t tokens = tokens_read(results);
  return {{"object", "list"},
          {"data", std::move(data)},
          {"model", model},
          {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
}

server::Operation embeddings_operation(const EmbedderFacts& facts) {
  const Json text = {{"type", "string"}};
  const Json text_or_null = {{"type", Json::array({"string", "null"})}};
  const Json count = {{"type", "integer"}, {"minimum", 0}, {"maximum", kMostUsed}};
  const Json vector = server::any_schema({server::array_schema({{"type", "number"}}), text});
  const Json embedding =
      server::object_schema({{"object", {{"const", "embedding"}}}, {"index", count}, {"embedding", vector}},
                            {"object", "index", "embedding"});
  const Json usage =
      server::object_schema({{"prompt_tokens", count}, {"total_tokens", count}}, {"prompt_tokens", "total_tokens"});
  Json model = text_or_null;
  model["description"] = "which of the models that are served; the path may have said it";
  Json user = text_or_null;
  user["description"] = "not looked at";
  Json format = {{"enum", Json::array({"float", "base64", nullptr})},
                 {"description", "vectors as numbers, or as float32 in little endian, in base64"},
                 {"default", "float"}};
  return {.summary = "A vector of length 1 for each text, as OpenAI's API gives it.",
          .body = server::object_schema({{"input", embed_inputs_schema(facts)},
                                         {"model", std::move(model)},
                                         {"encoding_format", std::move(format)},
                                         {"dimensions", dimensions_schema(facts)},
                                         {"user", std::move(user)},
                                         {"prompt_name", prompt_name_schema(facts)}},
                                        {"input"}),
          .answer = server::object_schema({{"object", {{"const", "list"}}},
                                           {"data", server::array_schema(embedding)},
                                           {"model", text},
                                           {"usage", usage}},
                                          {"object", "data", "model", "usage"})};
}

}  // namespace weft::requests
