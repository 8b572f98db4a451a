// SPDX-License-Identifier: Apache-2.0
// What may be said of answers besides question and document.
#pragma once

#include <cstdint>

#include "weft/core/fields.h"
#include "weft/tasks/answer.h"

namespace weft::tasks {

struct AnswerConfig {
  std::int64_t top_k = 1;
  std::int64_t max_answer_len = 15;
  bool handle_impossible_answer = false;
  double null_threshold = 0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = AnswerConfig;
    visit(Field{"top_k", &C::top_k, "answers printed for a question, best first"}.range(1, 1 << 16));
    visit(Field{"max_answer_len", &C::max_answer_len, "longest answer, in tokens"}.range(1, 1 << 20));
    visit(Field{"handle_impossible_answer", &C::handle_impossible_answer,
                "allow 'no answer', printed as an empty text, to be the answer"});
    visit(
        Field{"null_threshold", &C::null_threshold,
              "with --handle-impossible-answer: how much larger the logit of 'no answer' must be than that of the best "
              "one"});
  }
};

inline AnswerTaskOptions answer_options(const AnswerConfig& config, const RunOptions& run) {
  return {.top_k = config.top_k,
          .max_answer_len = config.max_answer_len,
          .handle_impossible_answer = config.handle_impossible_answer,
          .null_threshold = config.null_threshold,
          .run = run};
}

}  // namespace weft::tasks
