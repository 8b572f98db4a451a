// SPDX-License-Identifier: Apache-2.0
// BLEU (Papineni et al. 2002) as sacrebleu 2.6.0 computes it, with its signature: the same figures to the last bit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"
#include "weft/metrics/translation/bootstrap.h"

namespace weft::metrics {

/// How BLEU counts.
struct BleuOptions {
  std::string words = "13a";
  std::string smoothing = "exp";
  double smoothing_value = -1;
  std::int64_t max_order = 4;
  bool effective_order = false;
  bool lowercase = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = BleuOptions;
    visit(
        Field{"words", &C::words,
              "what a word is: 13a (WMT's), intl (punctuation of all scripts), zh (Chinese characters), char, or none "
              "(the text is in words already)"}
            .one_of({"13a", "intl", "zh", "char", "none"}));
    visit(Field{"smoothing", &C::smoothing,
                "what stands for orders without a match: half of the one before it, a "
                "floor, a count added to all orders above the first, or nothing"}
              .one_of({"exp", "floor", "add-k", "none"}));
    visit(Field{"smoothing_value", &C::smoothing_value, "the floor, or the count; -1 for 0.1 and 1"}.range(-1, 1e9));
    visit(Field{"max_order", &C::max_order, "longest n-gram, in words"}.range(1, 64));
    visit(Field{"effective_order", &C::effective_order,
                "leave out orders that the text is too short for; for single sentences"});
    visit(Field{"lowercase", &C::lowercase, "compare in lower case"});
  }
};

/// Of a corpus.
struct BleuScore {
  double score = 0;                ///< 0 to 100
  std::vector<double> precisions;  ///< by order, 0 to 100
  double brevity_penalty = 1;
  std::int64_t hypothesis_length = 0;  ///< words
  std::int64_t reference_length = 0;   ///< words of the references nearest in length

  /// "65.1/40.2/26.0/17.2 (BP = 1.000 ratio = 1.003 hyp_len = 120 ref_len = 119)", as sacrebleu writes it.
  std::string verbose() const;
};

/// Keeps a few numbers a sentence.
class BleuScorer {
 public:
  /// Errors: kArgument for options out of range, and a smoothing value where nothing takes one.
  explicit BleuScorer(const BleuOptions& options);

  /// A sentence and its references, at least one. Errors: kArgument without a reference; text that is not UTF-8 where
  /// letters matter (lowercase, intl).
  void add(std::string_view hypothesis, std::span<const std::string> references);

  /// Errors: kArgument without a sentence.
  BleuScore score() const;
  std::int64_t sentences() const noexcept { return statistics_.sentences(); }
  /// The score of each of `samples` resamples of the sentences.
  std::vector<double> resampled(std::int64_t samples) const;
  /// 95% interval from `samples` resamples of the sentences, or nothing asked for less than 2.
  BootstrapInterval interval(std::int64_t samples) const;
  /// "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"; with `samples` above 1 also "bs" and "seed".
  std::string signature(std::int64_t samples = 0) const;

 private:
  BleuOptions options_;
  SentenceStatistics statistics_;  // hypothesis and reference length, matches by order, n-grams by order
  ReferenceCount references_;
};

}  // namespace weft::metrics
