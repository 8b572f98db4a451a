// SPDX-License-Identifier: Apache-2.0
// The logits of all windows of a document are kept until the last one is there: two numbers a token.
#include "weft/tasks/answer.h"

#include "weft/core/error.h"
#include "weft/core/work/pieces.h"
#include "weft/tasks/decode/answers.h"
#include "weft/tasks/text_too_long.h"
#include "weft/text/utf8.h"

namespace weft::tasks {
namespace {

using formats::Json;

// One window's logits, alive until the spans are chosen.
struct KeptLogits {
  at::Tensor start;
  at::Tensor end;
};

Json answer_json(const AnswerSpan& span, const std::string& document) {
  const auto begin = static_cast<std::size_t>(span.byte_offsets.begin);
  const auto length = static_cast<std::size_t>(span.byte_offsets.end) - begin;
  return {{"answer", span.no_answer ? std::string() : document.substr(begin, length)},
          {"score", span.score},
          {"start", span.offsets.begin},
          {"end", span.offsets.end},
          {"byte_start", span.byte_offsets.begin},
          {"byte_end", span.byte_offsets.end},
          {"logit", span.logit}};
}

Answers answers_of(const EncodedDocument& encoded, const std::vector<KeptLogits>& logits,
                   const AnswerTaskOptions& options) {
  std::vector<AnswerWindow> windows;
  windows.reserve(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    windows.push_back({&encoded.windows[i], numbers(logits[i].start), numbers(logits[i].end)});
  }
  AnswerOptions select;
  select.count = options.top_k;
  select.max_answer_tokens = options.max_answer_len;
  select.may_be_unanswerable = options.handle_impossible_answer;
  select.null_threshold = options.null_threshold;
  return select_answers(windows, select);
}

// An error names the document, and one about numbers the model too.
Answers named_answers_of(const TaskModel& task, const std::string& name, const EncodedDocument& encoded,
                         const std::vector<KeptLogits>& logits, const AnswerTaskOptions& options) {
  try {
    return answers_of(encoded, logits, options);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kNumeric) {
      throw named_numeric_error(task, name, error);
    }
    throw Error(error.kind(), concat(name, ": ", error.what()), error.hint());
  }
}

}  // namespace

void check_question(const std::string& question, const std::string& name) {
  if (text::strip_left(question).empty()) {
    throw UnfitText(concat(name, ": the question is empty"), "write what is to be found in the document");
  }
}

std::vector<TaskResult> answer(TaskModel& task, std::span<const Document> documents, const AnswerTaskOptions& options) {
  for (const Document& document : documents) {
    check_question(document.first, document.name);
  }
  EncodedBatch encoded(task, documents, windowed_texts(task, options.run, text::Truncation::kOnlySecond));
  std::vector<std::vector<KeptLogits>> kept(documents.size());
  encoded.run(task, options.run.batch, false, [&](const EncodedBatch::Place& place, const WindowOutput& output) {
    kept[place.document].resize(encoded[place.document].windows.size());
    kept[place.document][place.window] = {output.start_logits, output.end_logits};
  });
  std::vector<TaskResult> results(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const Answers found = named_answers_of(task, documents[i].name, encoded[i], kept[i], options);
    Json list = Json::array();
    for (const AnswerSpan& span : found.best) {
      list.push_back(answer_json(span, *documents[i].second));
    }
    results[i].result = options.top_k == 1 ? Json(list[0]) : std::move(list);
    results[i].metadata = encoded.metadata(i);
    end_piece();
    results[i].metadata["no_answer"] = {{"score", found.null_score}, {"logit", found.null_logit}};
  }
  return results;
}

}  // namespace weft::tasks
