// SPDX-License-Identifier: Apache-2.0
// Everything is counted in whole numbers up to a threshold, ties together; each point divides once.
#include "weft/metrics/open_answers/natural_questions.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "weft/core/error.h"
#include "weft/metrics/open_answers/word_overlap.h"

namespace weft::metrics {
namespace {

using readers::PageAnswer;
using readers::PageSpan;

constexpr std::ptrdiff_t kAgreeing = 2;

// By bytes where both have them, or by tokens where both have these. Neither is none.
bool same_span(const PageSpan& first, const PageSpan& second) noexcept {
  const bool bytes = first.has_bytes() && second.has_bytes() && first.start_byte == second.start_byte &&
                     first.end_byte == second.end_byte;
  const bool tokens = first.has_tokens() && second.has_tokens() && first.start_token == second.start_token &&
                      first.end_token == second.end_token;
  return bytes || tokens;
}

// Whether each span of `some` that is one is among `others`.
bool all_among(const std::vector<PageSpan>& some, const std::vector<PageSpan>& others) {
  return std::all_of(some.begin(), some.end(), [&](const PageSpan& span) {
    return span.none() || std::any_of(others.begin(), others.end(),
                                      [&](const PageSpan& other) { return !other.none() && same_span(span, other); });
  });
}

bool is_right_long(const PageAnswer& prediction, std::span<const PageAnswer> annotations) {
  return std::any_of(annotations.begin(), annotations.end(), [&](const PageAnswer& annotation) {
    return !annotation.long_answer.none() && same_span(annotation.long_answer, prediction.long_answer);
  });
}

bool is_right_short(const PageAnswer& prediction, std::span<const PageAnswer> annotations) {
  return std::any_of(annotations.begin(), annotations.end(), [&](const PageAnswer& annotation) {
    if (prediction.yes_no != PageAnswer::YesNo::kNone) {
      return annotation.yes_no == prediction.yes_no;
    }
    return all_among(prediction.short_answers, annotation.short_answers) &&
           all_among(annotation.short_answers, prediction.short_answers);
  });
}

double share_or_zero(std::int64_t part, std::int64_t whole) noexcept {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

void take_point(const ThresholdPoint& point, PageFigures& figures) noexcept {
  for (std::size_t i = 0; i < PageFigures::kTargets.size(); ++i) {
    if (point.precision >= PageFigures::kTargets[i] && point.recall > figures.at_precision[i].recall) {
      figures.at_precision[i] = point;
    }
  }
  if (point.f1 > figures.best.f1) {
    figures.best = point;
  }
}

}  // namespace

bool has_long_answer(std::span<const PageAnswer> annotations) noexcept {
  return std::count_if(annotations.begin(), annotations.end(),
                       [](const PageAnswer& annotation) { return !annotation.long_answer.none(); }) >= kAgreeing;
}

bool has_short_answer(std::span<const PageAnswer> annotations) noexcept {
  return std::count_if(annotations.begin(), annotations.end(),
                       [](const PageAnswer& annotation) { return annotation.has_short(); }) >= kAgreeing;
}

void NaturalQuestionsScorer::add(const PagePrediction& prediction, std::span<const PageAnswer> annotations) {
  require(std::isfinite(prediction.long_score) && std::isfinite(prediction.short_score),
          "the scores of answers must be finite, found ", prediction.long_score, " and ", prediction.short_score);
  const PageAnswer& answer = prediction.answer;
  require(answer.yes_no == PageAnswer::YesNo::kNone || !answer.has_short_spans(),
          "a prediction is yes, no or short spans, found both");
  undecided_ += std::ssize(annotations) < kAgreeing ? 1 : 0;
  const bool long_truth = has_long_answer(annotations);
  const bool long_predicted = !answer.long_answer.none();
  long_.push_back({prediction.long_score, long_truth, long_predicted,
                   long_truth && long_predicted && is_right_long(answer, annotations)});
  const bool short_truth = has_short_answer(annotations);
  const bool short_predicted = answer.has_short();
  short_.push_back({prediction.short_score, short_truth, short_predicted,
                    short_truth && short_predicted && is_right_short(answer, annotations)});
}

PageFigures NaturalQuestionsScorer::figures_of(std::vector<Outcome> outcomes) {
  require(!outcomes.empty(), "a report needs at least one question, found none");
  std::stable_sort(outcomes.begin(), outcomes.end(),
                   [](const Outcome& a, const Outcome& b) { return a.score > b.score; });
  const std::int64_t truths =
      std::count_if(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) { return outcome.has_truth; });
  PageFigures figures;
  std::int64_t right = 0;
  std::int64_t predicted = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    right += outcomes[i].right ? 1 : 0;
    predicted += outcomes[i].predicted ? 1 : 0;
    if (i + 1 < outcomes.size() && outcomes[i + 1].score == outcomes[i].score) {
      continue;
    }
    ThresholdPoint point{0.0, share_or_zero(right, predicted), share_or_zero(right, truths), outcomes[i].score};
    point.f1 = f1_of(point.precision, point.recall);
    take_point(point, figures);
    figures.all = point;
  }
  figures.all.threshold = 0.0;
  return figures;
}

std::string NaturalQuestionsScorer::remark() const {
  return undecided_ == 0 ? std::string()
                         : concat(undecided_, " of ", questions(), " questions have fewer than ", kAgreeing,
                                  " annotators, and count as questions without an answer, whatever is predicted");
}

PageFigures NaturalQuestionsScorer::long_answers() const { return figures_of(long_); }

PageFigures NaturalQuestionsScorer::short_answers() const { return figures_of(short_); }

}  // namespace weft::metrics
