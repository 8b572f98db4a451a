// SPDX-License-Identifier: Apache-2.0
// The three shapes of a translation and that of a summary as JSON Schemas.
#include "weft/requests/sequence_parameters.h"
#include "weft/requests/task_schemas.h"

namespace weft::requests {
namespace {

using formats::Json;

Json one_or_list_of_words() { return server::any_schema({text_schema(), server::array_schema(text_schema())}); }

}  // namespace

server::Operation translate_operation() {
  const Json texts = server::one_or_list_schema(text_schema());
  const Json plain = server::object_schema(
      {{"source_lang", text_schema()}, {"target_lang", text_schema()}, {"text", texts}, {"stream", stream_schema()}},
      {"text"});
  const Json libre = server::object_schema({{"q", texts},
                                            {"source", server::string_schema("a language, or auto: that of the model")},
                                            {"target", text_schema()},
                                            {"format", {{"enum", Json::array({"text", ""})}}},
                                            {"alternatives", {{"enum", Json::array({0, "0"})}}},
                                            {"api_key", text_schema()},
                                            {"stream", stream_schema()}},
                                           {"q"});
  Json hub = inputs_schema<TranslateParameters>(text_schema());
  hub["properties"]["stream"] = stream_schema();
  const Json plain_answer = server::object_schema(
      {{"source_lang", text_schema()}, {"target_lang", text_schema()}, {"translation", one_or_list_of_words()}},
      {"source_lang", "target_lang", "translation"});
  const Json libre_answer = server::object_schema({{"translatedText", one_or_list_of_words()}}, {"translatedText"});
  const Json hub_answer =
      server::array_schema(server::object_schema({{"translation_text", text_schema()}}, {"translation_text"}));
  return {
      .summary =
          "Translates texts, sentence by sentence; the answer has the shape of the request. A form "
          "(application/x-www-form-urlencoded) with q, source and target is read, too.",
      .body = server::any_schema({plain, libre, hub}),
      .answer = server::any_schema({plain_answer, libre_answer, hub_answer}),
      .piece = server::object_schema({{"index", integer_schema()}, {"text", text_schema()}, {"source", text_schema()}},
                                     {"index", "text", "source"})};
}

server::Operation summarize_operation() {
  const Json summary = server::array_schema(server::object_schema({{"summary_text", text_schema()}}, {"summary_text"}));
  Json body = inputs_schema<SummarizeParameters>(text_schema());
  body["properties"]["stream"] = stream_schema();
  return {.summary = "Summaries of texts.",
          .body = body,
          .answer = server::any_schema({summary, server::array_schema(summary)}),
          .piece = server::object_schema({{"index", integer_schema()}, {"text", text_schema()}}, {"index", "text"})};
}

}  // namespace weft::requests
