// SPDX-License-Identifier: Apache-2.0
// Requests and answers of an encoder's tasks as JSON Schemas.
#include "weft/requests/encoder_parameters.h"
#include "weft/requests/task_schemas.h"

namespace weft::requests {
namespace {

using formats::Json;

// A list for one text, a list of lists for several.
Json list_of_results(const Json& result) {
  const Json one = server::array_schema(result);
  return server::any_schema({one, server::array_schema(one)});
}

}  // namespace

server::Operation classify_operation() {
  const Json pair = server::object_schema({{"text", text_schema()}, {"text_pair", text_schema()}}, {"text"});
  return {.summary = "Labels of texts, best first.",
          .body = inputs_schema<ClassifyParameters>(server::any_schema({text_schema(), pair})),
          .answer = list_of_results(
              server::open_object_schema({{"label", text_schema()}, {"score", number_schema()}}, {"label", "score"}))};
}

server::Operation tag_operation() {
  const Json entity = server::open_object_schema({{"entity_group", text_schema()},
                                                  {"entity", text_schema()},
                                                  {"index", integer_schema()},
                                                  {"score", number_schema()},
                                                  {"word", text_schema()},
                                                  {"start", integer_schema()},
                                                  {"end", integer_schema()}},
                                                 {"score", "word", "start", "end"});
  return {.summary = "Entities of texts, with their places.",
          .body = inputs_schema<TagParameters>(text_schema()),
          .answer = list_of_results(entity)};
}

server::Operation answer_operation() {
  const Json asked =
      server::object_schema({{"question", text_schema()}, {"context", text_schema()}}, {"question", "context"});
  const Json answer = server::open_object_schema(
      {{"score", number_schema()}, {"start", integer_schema()}, {"end", integer_schema()}, {"answer", text_schema()}},
      {"score", "start", "end", "answer"});
  return {.summary = "Answers to questions, each a stretch of its context.",
          .body = inputs_schema<AnswerParameters>(asked),
          .answer = server::any_schema({answer, list_of_results(answer), server::array_schema(answer)})};
}

server::Operation fill_mask_operation() {
  const Json filled = server::open_object_schema({{"score", number_schema()},
                                                  {"token", integer_schema()},
                                                  {"token_str", text_schema()},
                                                  {"sequence", text_schema()}},
                                                 {"score", "token", "token_str", "sequence"});
  return {.summary = "Tokens for the mask of each text, best first.",
          .body = inputs_schema<FillMaskParameters>(text_schema()),
          .answer = server::any_schema({list_of_results(filled), server::array_schema(list_of_results(filled))})};
}

server::Operation choose_operation() {
  Json choices = server::array_schema(text_schema());
  choices["minItems"] = 2;
  choices["maxItems"] = kMostChoices;
  const Json question = server::object_schema({{"prompt", text_schema()}, {"choices", choices}}, {"prompt", "choices"});
  const Json choice =
      server::open_object_schema({{"index", integer_schema()}, {"choice", text_schema()}, {"score", number_schema()}},
                                 {"index", "choice", "score"});
  return {.summary = "Which of several texts goes with a prompt, best first.",
          .body = server::object_schema({{"inputs", server::one_or_list_schema(question)}}, {"inputs"}),
          .answer = list_of_results(choice)};
}

server::Operation restore_operation() {
  const Json sentence =
      server::open_object_schema({{"start", integer_schema()}, {"end", integer_schema()}}, {"start", "end"});
  const Json restored = server::open_object_schema(
      {{"text", text_schema()}, {"sentences", server::array_schema(sentence)}}, {"text", "sentences"});
  return {.summary = "Case, punctuation and sentence ends for bare words.",
          .body = server::object_schema({{"inputs", server::one_or_list_schema(text_schema())}}, {"inputs"}),
          .answer = server::any_schema({restored, server::array_schema(restored)})};
}

}  // namespace weft::requests
