// SPDX-License-Identifier: Apache-2.0
// The choices of one question are one row of the model's batch.
#include "weft/tasks/choose.h"

#include "weft/core/error.h"
#include "weft/core/work/pieces.h"
#include "weft/tasks/decode/scores.h"

namespace weft::tasks {
namespace {

std::vector<Scored> ranked_choices(const TaskModel& task, const std::string& question, const at::Tensor& logits) {
  try {
    return best(softmax(numbers(logits)), 0);
  } catch (const Error& error) {
    throw named_numeric_error(task, question, error);
  }
}

}  // namespace

TaskResult choose(TaskModel& task, const Question& question, const RunOptions& options) {
  require(question.choices.size() >= 2, question.name, ": needs at least two choices, found ", question.choices.size());
  std::vector<EncodedDocument> encoded;
  formats::Json tokens = formats::Json::array();
  formats::Json truncated = formats::Json::array();
  for (std::size_t i = 0; i < question.choices.size(); ++i) {
    const Document document{question.prompt, question.choices[i], concat(question.name, ", choice ", i)};
    encoded.push_back(encode_document(*task.tokenizer, document, whole_texts(task, options)));
    take_note(task, encoded.back().windows.front(), document.name);
    tokens.push_back(encoded.back().tokens);
    truncated.push_back(encoded.back().left_out);
    end_piece();
  }
  task.unknown->warn("read so far");
  std::vector<const text::Encoding*> windows;
  windows.reserve(encoded.size());
  for (const EncodedDocument& choice : encoded) {
    windows.push_back(&choice.windows.front());
  }
  Computed computed;
  const at::Tensor logits = EncoderRunner(task, options.batch).run_choices(windows, computed);
  TaskResult result{formats::Json::array(),
                    {{"tokens", tokens}, {"truncated", truncated}, {"dtype", product_type(task)}}};
  for (const Scored& scored : ranked_choices(task, question.name, logits)) {
    const std::string& choice = question.choices.at(static_cast<std::size_t>(scored.index));
    result.result.push_back({{"index", scored.index}, {"choice", choice}, {"score", scored.score}});
  }
  for (const auto& [name, value] : computed) {
    result.metadata[name] = value;
  }
  return result;
}

}  // namespace weft::tasks
