// SPDX-License-Identifier: Apache-2.0
// Requests and answers of text-embeddings-inference as JSON Schemas.
#include "weft/requests/shapes/tei_shapes.h"
#include "weft/requests/task_schemas.h"

namespace weft::requests {
namespace {

using formats::Json;

Json flag_or_null(const char* description, bool otherwise) {
  return {{"type", Json::array({"boolean", "null"})}, {"description", description}, {"default", otherwise}};
}

Json length_members(const char* without) {
  return {{"truncate", flag_or_null(without, false)},
          {"truncation_direction",
           {{"enum", Json::array({"right", "Right", "left", "Left", nullptr})},
            {"description", "which end of a text is cut; the left one is never"}}}};
}

Json text_options(const EmbedderFacts& facts) {
  Json members = length_members("cut texts that are too long; otherwise they are read in windows");
  members["prompt_name"] = prompt_name_schema(facts);
  return members;
}

}  // namespace

server::Operation embed_operation(const EmbedderFacts& facts) {
  Json members = {{"inputs", embed_inputs_schema(facts)}};
  members.update(text_options(facts));
  members["normalize"] = flag_or_null("vectors of length 1", true);
  members["dimensions"] = dimensions_schema(facts);
  return {.summary = "A vector for each text, as text-embeddings-inference gives it.",
          .body = server::object_schema(members, {"inputs"}),
          .answer = server::array_schema(server::array_schema(number_schema()))};
}

server::Operation embed_all_operation(const EmbedderFacts& facts) {
  Json members = {{"inputs", embed_inputs_schema(facts)}};
  members.update(text_options(facts));
  return {.summary = "A vector for each token of each text, special ones too, as the encoder gives it.",
          .body = server::object_schema(members, {"inputs"}),
          .answer = server::array_schema(server::array_schema(server::array_schema(number_schema())))};
}

server::Operation similarity_operation(const EmbedderFacts& facts) {
  Json sentences = server::array_schema(text_schema());
  sentences["minItems"] = 1;
  const Json inputs = server::object_schema({{"source_sentence", text_schema()}, {"sentences", sentences}},
                                            {"source_sentence", "sentences"});
  const Json parameters = server::any_schema({server::object_schema(text_options(facts)), {{"type", "null"}}});
  return {.summary = "How alike a text is to each of several others, by their vectors.",
          .body = server::object_schema({{"inputs", inputs}, {"parameters", parameters}}, {"inputs"}),
          .answer = server::array_schema(number_schema())};
}

server::Operation predict_operation() {
  const auto lists = [](const Json& items, std::int64_t most) {
    Json schema = server::array_schema(items);
    schema["minItems"] = 1;
    if (most > 0) {
      schema["maxItems"] = most;
    }
    return schema;
  };
  const Json one = lists(text_schema(), 2);
  Json members = {{"inputs", server::any_schema({text_schema(), one, lists(one, 0)})},
                  {"raw_scores", flag_or_null("scores are logits", false)}};
  members.update(length_members("cut texts that are too long; otherwise they are refused"));
  const Json prediction =
      server::object_schema({{"score", number_schema()}, {"label", text_schema()}}, {"score", "label"});
  const Json all = server::array_schema(prediction);
  return {.summary = "Labels of texts or pairs, best first, as text-embeddings-inference gives them.",
          .body = server::object_schema(members, {"inputs"}),
          .answer = server::any_schema({all, server::array_schema(all)})};
}

}  // namespace weft::requests
