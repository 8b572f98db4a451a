// SPDX-License-Identifier: Apache-2.0
// How often the right one of several candidates was chosen: WikiHop's accuracy (Welbl et al. 2018).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace weft::metrics {

/// Compares texts byte by byte.
class CandidateScorer {
 public:
  /// What has no prediction, or one that is no candidate, is wrong.
  void add(const std::optional<std::string>& prediction, const std::string& answer,
           std::span<const std::string> candidates);
  /// 0 to 1. Errors: kArgument without a question.
  double accuracy() const;
  std::int64_t questions() const noexcept { return questions_; }
  std::int64_t missing() const noexcept { return missing_; }
  std::int64_t strangers() const noexcept { return strangers_; }

 private:
  std::int64_t questions_ = 0;
  std::int64_t right_ = 0;
  std::int64_t missing_ = 0;
  std::int64_t strangers_ = 0;
};

}  // namespace weft::metrics
