// SPDX-License-Identifier: Apache-2.0
// Exact match and F1 over the names of an answer, as TriviaQA's evaluation program (triviaqa_evaluation.py, Joshi et
// al. 2017) computes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/metrics/answers.h"
#include "weft/readers/open_answers/trivia_reader.h"

namespace weft::metrics {

/// The best over `normalized_aliases` and `human_answers`, 0 to 1. Errors: kArgument for text that is not UTF-8, and a
/// question without a name.
AnswerScore score_trivia_answer(std::string_view prediction, const readers::TriviaQuestion& truth);

/// The mean over questions, or over pairs of a question and a document; what has no prediction scores 0.
class TriviaScorer {
 public:
  /// Errors: as score_trivia_answer.
  void add(const std::optional<std::string>& prediction, const readers::TriviaQuestion& truth);
  /// In percent. Errors: kArgument without a question.
  AnswerMean mean() const;
  std::int64_t missing() const noexcept { return missing_; }

 private:
  std::int64_t questions_ = 0;
  std::int64_t missing_ = 0;
  AnswerScore sum_;
};

}  // namespace weft::metrics
