// SPDX-License-Identifier: Apache-2.0
// As llama.cpp's tools/server has /embedding, where "content" is a prompt or a list of prompts.
#include "weft/requests/shapes/llama_shape.h"

#include <utility>

#include "weft/requests/request_body.h"
#include "weft/requests/shapes/vector_result.h"
#include "weft/requests/task_schemas.h"

namespace weft::requests {

using formats::Json;

EmbedInputs read_content(const Json& body, const EmbedderFacts& facts) {
  require_known_members(body, {"content"});
  return read_embed_inputs(body, "content", facts);
}

Json content_answer(std::span<const Json> results) {
  Json list = Json::array();
  for (const Json& result : results) {
    Json rows = Json::array();
    rows.push_back(vector_numbers(result));
    list.push_back({{"index", list.size()}, {"embedding", std::move(rows)}});
  }
  return list;
}

server::Operation content_operation(const EmbedderFacts& facts) {
  const Json vectors = server::array_schema(server::array_schema(number_schema()));
  return {.summary = "A vector of length 1 for each text, as the server of llama.cpp gives it.",
          .body = server::object_schema({{"content", embed_inputs_schema(facts)}}, {"content"}),
          .answer = server::array_schema(
              server::object_schema({{"index", integer_schema()}, {"embedding", vectors}}, {"index", "embedding"}))};
}

}  // namespace weft::requests
