// SPDX-License-Identifier: Apache-2.0
// chrF (Popović 2015) and chrF++ (Popović 2017) as sacrebleu 2.6.0 computes them, with its signature: the same figures
// to the last bit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"
#include "weft/metrics/translation/bootstrap.h"

namespace weft::metrics {

/// How chrF counts. `word_order` 2 is chrF++.
struct ChrfOptions {
  std::int64_t character_order = 6;
  std::int64_t word_order = 0;
  std::int64_t beta = 2;
  bool lowercase = false;
  bool whitespace = false;
  bool epsilon_smoothing = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ChrfOptions;
    visit(Field{"character_order", &C::character_order, "longest n-gram of characters"}.range(1, 64));
    visit(Field{"word_order", &C::word_order, "longest n-gram of words; 2 is chrF++"}.range(0, 64));
    visit(Field{"beta", &C::beta, "how often recall counts more than precision"}.range(1, 1000));
    visit(Field{"lowercase", &C::lowercase, "compare in lower case"});
    visit(Field{"whitespace", &C::whitespace, "blanks are characters too"});
    visit(Field{"epsilon_smoothing", &C::epsilon_smoothing,
                "mean of the orders' F scores, as chrF++.py, NLTK and Moses have it, in place of the F score of mean "
                "precision and recall over the orders that both texts have"});
  }
};

/// Keeps a few numbers a sentence.
class ChrfScorer {
 public:
  /// Errors: kArgument for options out of range.
  explicit ChrfScorer(const ChrfOptions& options);

  /// A sentence and its references, at least one; the one with the best F score counts. Errors: kArgument without a
  /// reference; text that is not UTF-8 where lower case is asked for.
  void add(std::string_view hypothesis, std::span<const std::string> references);

  /// 0 to 100. Errors: kArgument without a sentence.
  double score() const;
  /// 95% interval from `samples` resamples of the sentences.
  BootstrapInterval interval(std::int64_t samples) const;
  /// "chrF2", "chrF2++".
  std::string name() const;
  /// "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0"; with `samples` above 1 also "bs" and "seed".
  std::string signature(std::int64_t samples = 0) const;

 private:
  ChrfOptions options_;
  SentenceStatistics statistics_;  // for each order: n-grams of the hypothesis, of the reference, of both
  ReferenceCount references_;
};

}  // namespace weft::metrics
