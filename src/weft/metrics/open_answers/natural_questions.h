// SPDX-License-Identifier: Apache-2.0
// Long and short answers at the best threshold of their scores, as the evaluation program of Natural Questions
// (nq_eval.py, Kwiatkowski et al. 2019) computes them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/readers/open_answers/natural_questions_reader.h"

namespace weft::metrics {

/// What a model says of a question; larger scores are surer.
struct PagePrediction {
  readers::PageAnswer answer;
  double long_score = 0.0;
  double short_score = 0.0;
};

/// Precision over what is predicted, recall over the questions that have an answer; 0 to 1.
struct ThresholdPoint {
  double f1 = 0.0;
  double precision = 0.0;
  double recall = 0.0;
  double threshold = 0.0;  ///< predictions whose score is below it count as no answer
};

/// Of long answers, or of short ones.
struct PageFigures {
  static constexpr std::array<double, 3> kTargets{0.5, 0.75, 0.9};

  ThresholdPoint best;                         ///< by F1; all 0 where no prediction is right
  std::array<ThresholdPoint, 3> at_precision;  ///< the largest recall whose precision is at least the target, or zeros
  ThresholdPoint all;                          ///< every prediction counts; without a threshold
};

/// Whether the annotators have a long answer: two or more of them marked one; so for short ones.
bool has_long_answer(std::span<const readers::PageAnswer> annotations) noexcept;
bool has_short_answer(std::span<const readers::PageAnswer> annotations) noexcept;

/// One question after another, in any order.
class NaturalQuestionsScorer {
 public:
  /// Errors: kArgument for a score that is not finite, and for yes or no beside short spans.
  void add(const PagePrediction& prediction, std::span<const readers::PageAnswer> annotations);
  /// Errors: kArgument without a question.
  PageFigures long_answers() const;
  PageFigures short_answers() const;
  std::int64_t questions() const noexcept { return static_cast<std::int64_t>(long_.size()); }
  /// How many questions have too few annotators to have an answer, a sentence; empty where all have enough.
  std::string remark() const;

 private:
  struct Outcome {
    double score;
    bool has_truth;
    bool predicted;
    bool right;
  };
  static PageFigures figures_of(std::vector<Outcome> outcomes);

  std::vector<Outcome> long_;
  std::vector<Outcome> short_;
  std::int64_t undecided_ = 0;  // questions with too few annotators
};

}  // namespace weft::metrics
