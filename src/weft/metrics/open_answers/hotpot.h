// SPDX-License-Identifier: Apache-2.0
// Answers, supporting facts and both together, as HotpotQA's evaluation program (hotpot_evaluate_v1.py, Yang et al.
// 2018) computes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/readers/open_answers/hotpot_reader.h"

namespace weft::metrics {

/// A model's; either half may be missing.
struct HotpotPrediction {
  std::optional<std::string> answer;
  std::optional<std::vector<readers::SupportingFact>> facts;
};

/// 0 to 1: of one question, or the mean over all.
struct OverlapScore {
  double exact = 0.0;
  double f1 = 0.0;
  double precision = 0.0;
  double recall = 0.0;
};

struct HotpotReport {
  OverlapScore answer;
  OverlapScore facts;  ///< as sets
  OverlapScore joint;  ///< products of exact, precision and recall of both; F1 of these
  std::int64_t questions = 0;
  std::int64_t missing_answers = 0;
  std::int64_t missing_facts = 0;
};

/// An answer; precision and recall are 0 where it, or the truth, is yes, no or noanswer, and they differ. Errors:
/// kArgument for text that is not UTF-8.
OverlapScore score_hotpot_answer(std::string_view prediction, std::string_view truth);

/// Facts as sets; two empty ones are equal, and their F1 is 0.
OverlapScore score_hotpot_facts(const std::vector<readers::SupportingFact>& prediction,
                                const std::vector<readers::SupportingFact>& truth);

/// One question after another; sums run in their order.
class HotpotScorer {
 public:
  /// A half that is missing scores 0, and so does the joint figure. Errors: as score_hotpot_answer.
  void add(const HotpotPrediction& prediction, std::string_view answer,
           const std::vector<readers::SupportingFact>& facts);
  /// Means over all questions. Errors: kArgument without one.
  HotpotReport report() const;

 private:
  HotpotReport sums_;
};

}  // namespace weft::metrics
