// SPDX-License-Identifier: Apache-2.0
// Counts alone.
#include "weft/metrics/open_answers/candidates.h"

#include <algorithm>

#include "weft/core/error.h"

namespace weft::metrics {

void CandidateScorer::add(const std::optional<std::string>& prediction, const std::string& answer,
                          std::span<const std::string> candidates) {
  ++questions_;
  if (!prediction) {
    ++missing_;
    return;
  }
  right_ += *prediction == answer ? 1 : 0;
  strangers_ += std::find(candidates.begin(), candidates.end(), *prediction) == candidates.end() ? 1 : 0;
}

double CandidateScorer::accuracy() const {
  require(questions_ > 0, "an accuracy needs at least one question, found none");
  return static_cast<double>(right_) / static_cast<double>(questions_);
}

}  // namespace weft::metrics
