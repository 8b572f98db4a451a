// SPDX-License-Identifier: Apache-2.0
// Which words of a text and of its translation belong together, by the cross-attention of the model that is served.
#include <memory>
#include <utility>

#include "weft/core/error.h"
#include "weft/requests/request_cost.h"
#include "weft/requests/sequence_parameters.h"
#include "weft/requests/task_schemas.h"
#include "weft/service/served_model.h"
#include "weft/tasks/sequences/align.h"
#include "weft/tasks/sequences/alignment_result.h"
#include "weft/tasks/sequences/languages.h"

namespace weft::service {
namespace {

using SharedTexts = std::shared_ptr<ServedPair>;

// A model of several languages must know the one of each translation: from the request, or from the source's own code.
void require_language(const tasks::SequenceModel& model, const requests::TextInputs& inputs,
                      const std::string& target) {
  const std::vector<std::string> codes = model.tokenizer->language_codes();
  for (const server::Text& text : inputs.texts) {
    require(text.second.has_value(), "'inputs' must be {\"text\", \"text_pair\"}: a text and its translation");
    require(codes.empty() || !target.empty() || !tasks::own_code(text.first, codes).empty(), model.name,
            " writes several languages: name one in 'tgt_lang' in 'parameters'; it has ",
            [&] { return tasks::some_codes(codes); });
  }
}

server::Work align_work(const SharedTexts& task, const std::string& name, const server::Request& request) {
  const formats::Json body = server::json_object(request);
  requests::require_known_members(body, {"inputs", "parameters"});
  const auto parameters = requests::read_parameters<requests::TranslateParameters>(body);
  requests::TextInputs inputs = requests::read_texts(body, "inputs", requests::kText, requests::kTextPair);
  require_language(task->model, inputs, parameters.tgt_lang);
  const std::string code = tasks::language_code(task->model, parameters.src_lang, parameters.tgt_lang).value_or("");
  const server::Cost cost = requests::align_cost(inputs.texts);
  return task_work(concat(name, "/align ", code), std::move(inputs), cost, [task, code](auto documents) {
    tasks::AlignModel model = tasks::align_model(task->model);
    model.code = code.empty() ? code : code + " ";
    std::vector<tasks::TaskResult> results;
    for (const tasks::AlignedPair& pair : tasks::align(model, documents, task->run.batch)) {
      results.push_back({.result = tasks::alignment_result(pair, pair.link_set())});
    }
    return results;
  });
}

server::Operation align_operation() {
  const formats::Json pair = server::object_schema(
      {{"text", requests::text_schema()}, {"text_pair", requests::text_schema()}}, {"text", "text_pair"});
  const formats::Json word = {{"type", "integer"}, {"minimum", 0}};
  const formats::Json link =
      server::object_schema({{"source", word}, {"target", word}, {"probability", requests::number_schema()}},
                            {"source", "target", "probability"});
  const formats::Json words = server::array_schema(requests::text_schema());
  const formats::Json answer = server::object_schema({{"alignment", requests::text_schema()},
                                                      {"source_words", words},
                                                      {"target_words", words},
                                                      {"links", server::array_schema(link)}},
                                                     {"alignment", "source_words", "target_words", "links"});
  return {.summary = "Which words of a text and of its translation belong together.",
          .body = requests::inputs_schema<requests::TranslateParameters>(pair),
          .answer = server::any_schema({answer, server::array_schema(answer)})};
}

}  // namespace

ServedTask align_task(const std::string& name, const std::shared_ptr<ServedPair>& task) {
  const auto handle = [task, name](const server::Request& request) -> server::Answer {
    return align_work(task, name, request);
  };
  return {handle, align_operation()};
}

}  // namespace weft::service
