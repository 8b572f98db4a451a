// SPDX-License-Identifier: Apache-2.0
// Exact match and F1 of extracted answers, as the official evaluation programs of SQuAD 1.1 (Rajpurkar et al. 2016) and
// 2.0 (Rajpurkar et al. 2018) compute them, with the best threshold for giving no answer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::metrics {

/// The two programs differ where an answer is empty.
enum class AnswerRules {
  kSquad1,  ///< an empty answer has F1 0
  kSquad2,  ///< an empty answer has F1 1 where none is right, else 0; true answers that normalise to nothing are
            ///< dropped
};

/// Lower case, without ASCII punctuation and the articles a, an, the, white space as single blanks. Errors: kArgument
/// for text that is not UTF-8.
std::string normalize_answer(std::string_view text);

/// Of one prediction, or the mean of several.
struct AnswerScore {
  double exact = 0.0;
  double f1 = 0.0;
};

/// The best score over the true answers, 0 to 1; by the rules of SQuAD 2.0, none stands for the empty answer.
/// Errors: kArgument for text that is not UTF-8, or no true answer under kSquad1.
AnswerScore score_answer(std::string_view prediction, std::span<const std::string> truth, AnswerRules rules);

/// The mean over some questions, in percent.
struct AnswerMean {
  AnswerScore percent;
  std::int64_t questions = 0;
};

/// The best mean, in percent, and the probability of no answer above which "" is predicted to get it.
struct BestThreshold {
  double percent = 0.0;
  double threshold = 0.0;
};

/// What SQuAD 2.0's program prints.
struct AnswerReport {
  AnswerMean all;
  AnswerMean has_answer;
  AnswerMean no_answer;
  BestThreshold best_exact;
  BestThreshold best_f1;
};

/// Keeps two numbers a question.
class AnswerScorer {
 public:
  explicit AnswerScorer(AnswerRules rules) : rules_(rules) {}

  /// `truth` is empty where the question has no answer; `no_answer_probability` as the model sees it, any finite scale.
  /// Errors: as score_answer; kArgument where the probability is not finite.
  void add(std::string_view prediction, std::span<const std::string> truth, double no_answer_probability = 0.0);
  /// Predictions whose probability of no answer is above `threshold` count as "". Errors: kArgument without a question.
  AnswerReport report(double threshold = 1.0) const;

 private:
  struct Question {
    AnswerScore score;
    double no_answer_probability;
    bool has_answer;
    bool predicted;  // whether the prediction is not empty
  };
  AnswerScore thresholded(const Question& question, double threshold) const;
  AnswerMean mean_where(double threshold, bool with_answer, bool without) const;
  BestThreshold best_threshold(double AnswerScore::* figure) const;

  AnswerRules rules_;
  std::vector<Question> questions_;
};

}  // namespace weft::metrics
