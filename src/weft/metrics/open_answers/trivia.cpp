// SPDX-License-Identifier: Apache-2.0
// Names are normalised once more, as the program does: an alias with an article in it never equals itself as it stands.
#include "weft/metrics/open_answers/trivia.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/metrics/open_answers/word_overlap.h"

namespace weft::metrics {

AnswerScore score_trivia_answer(std::string_view prediction, const readers::TriviaQuestion& truth) {
  require(!truth.normalized_aliases.empty() || !truth.human_answers.empty(), "question ", Quoted(truth.id),
          " must have a name of its answer, found none");
  const std::string predicted = normalize_trivia_answer(prediction);
  AnswerScore best;
  const auto compare = [&](const std::string& name) {
    const std::string actual = normalize_trivia_answer(name);
    best.exact = std::max(best.exact, predicted == actual ? 1.0 : 0.0);
    best.f1 = std::max(best.f1, word_overlap(predicted, actual).f1);
  };
  for (const std::string& alias : truth.normalized_aliases) {
    compare(alias);
  }
  for (const std::string& answer : truth.human_answers) {
    compare(normalize_trivia_answer(answer));
  }
  return best;
}

void TriviaScorer::add(const std::optional<std::string>& prediction, const readers::TriviaQuestion& truth) {
  ++questions_;
  if (!prediction) {
    ++missing_;
    return;
  }
  const AnswerScore score = score_trivia_answer(*prediction, truth);
  sum_.exact += score.exact;
  sum_.f1 += score.f1;
}

AnswerMean TriviaScorer::mean() const {
  require(questions_ > 0, "a mean needs at least one question, found none");
  const auto count = static_cast<double>(questions_);
  return {{100.0 * sum_.exact / count, 100.0 * sum_.f1 / count}, questions_};
}

}  // namespace weft::metrics
