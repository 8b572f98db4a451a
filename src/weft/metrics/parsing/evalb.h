// SPDX-License-Identifier: Apache-2.0
// Bracket scores of constituency trees as EVALB (Sekine and Collins 1997) computes them with COLLINS.prm: spans of
// words under a label, without punctuation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::metrics {

/// What counts.
struct EvalbRules {
  /// Labels beyond those of COLLINS.prm (TOP, -NONE-, comma, colon, both quotes, full stop) whose brackets count
  /// nothing, and whose words are taken out where they are tags.
  std::vector<std::string> dropped = {};
  std::int64_t longest = 40;  ///< words of the sentences that EvalbReport::up_to_longest is about
};

/// Sums over sentences; figures in percent, 0 where there is nothing to divide by.
struct EvalbSums {
  std::int64_t sentences = 0;
  std::int64_t errors = 0;   ///< sentences with other words than the true tree, or brackets that do not fit
  std::int64_t skipped = 0;  ///< sentences for which nothing was predicted
  std::int64_t gold = 0;     ///< brackets of the true trees; of valid sentences, as all below
  std::int64_t predicted = 0;
  std::int64_t matched = 0;
  std::int64_t complete = 0;  ///< sentences with all brackets right and no other
  std::int64_t crossing = 0;  ///< predicted brackets that cross a true one
  std::int64_t without_crossing = 0;
  std::int64_t with_two_crossing = 0;  ///< sentences with two or fewer
  std::int64_t words = 0;
  std::int64_t tags = 0;         ///< right ones
  std::int64_t missed_gold = 0;  ///< brackets of the true trees of sentences that are errors or skipped

  std::int64_t valid() const noexcept { return sentences - errors - skipped; }
  double recall() const noexcept;
  double precision() const noexcept;
  double f1() const noexcept;
  /// With errors and skipped sentences as sentences of which nothing was found: EVALB leaves them out.
  double recall_of_all() const noexcept;
  double f1_of_all() const noexcept;
};

struct EvalbReport {
  EvalbSums all;
  EvalbSums up_to_longest;  ///< of true trees with at most EvalbRules::longest words, punctuation included
};

/// Trees as text, one against one.
class EvalbScorer {
 public:
  explicit EvalbScorer(EvalbRules rules = {});

  /// Whatever is no tree is an error of the sentence, as are unequal words.
  void add(std::string_view predicted, std::string_view truth);
  const EvalbReport& report() const noexcept { return report_; }

 private:
  EvalbRules rules_;
  std::vector<std::string> dropped_;
  EvalbReport report_;
};

}  // namespace weft::metrics
