// SPDX-License-Identifier: Apache-2.0
// From a row of logits to scores, labels and tokens, as the pipelines of `transformers` do it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft::tasks {

/// Where a score stands in its row, and the score.
struct Scored {
  std::int64_t index = 0;
  double score = 0;
};

/// Errors: kNumeric when a model's output is not finite: ranking it would mean nothing.
void require_finite(std::span<const float> logits);

/// exp(x_i - max) / sum, summed in float64. An empty row gives an empty one. Errors: kNumeric as require_finite.
std::vector<double> softmax(std::span<const float> logits);
/// The same of finite float64 logits.
std::vector<double> softmax_of_doubles(std::span<const double> logits);

/// 1 / (1 + exp(-logit)).
double sigmoid(double logit) noexcept;

/// What makes scores of a classifier's logits.
enum class ScoreFunction { kSoftmax, kSigmoid, kNone };

/// "softmax", "sigmoid", "none", or "default": the rule of the text-classification pipeline, none for regression,
/// sigmoid for several labels at once and for a single label, else softmax. Errors: kArgument for another name.
ScoreFunction score_function(std::string_view name, std::string_view problem_type, std::int64_t labels);
std::string_view to_string(ScoreFunction function) noexcept;

/// A score for every label, in the order of the labels. Errors: kNumeric as require_finite.
std::vector<double> label_scores(std::span<const float> logits, ScoreFunction function);

/// The `count` largest, best first, ties in the order of the row; all of them when `count` is 0.
std::vector<Scored> best(std::span<const double> scores, std::int64_t count);

/// Which tokens of a vocabulary are wanted.
struct TokenChoice {
  std::int64_t count = 5;
  std::int64_t vocabulary = 0;  ///< ids from here on have no token and are no candidates; 0: all ids have one
  std::span<const std::int64_t> targets = {};  ///< only these ids; empty: all
};

/// The likeliest tokens of a row of logits, with probabilities over the whole row (fill-mask pipeline). Errors:
/// kArgument for a target outside of the row; kNumeric as require_finite.
std::vector<Scored> best_tokens(std::span<const float> logits, const TokenChoice& choice);

}  // namespace weft::tasks
