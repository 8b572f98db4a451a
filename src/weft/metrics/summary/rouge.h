// SPDX-License-Identifier: Apache-2.0
// ROUGE-1, -2, -L and -Lsum (Lin 2004) as the package rouge_score 0.1.2 computes them: the same figures to the last
// bit.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/metrics/translation/bootstrap.h"

namespace weft::metrics {

/// 0 to 1.
struct RougeFigure {
  double precision = 0;
  double recall = 0;
  double f1 = 0;
};

/// The kinds, in the order of kRougeNames.
inline constexpr std::array<std::string_view, 4> kRougeNames = {"rouge1", "rouge2", "rougeL", "rougeLsum"};
using RougeScore = std::array<RougeFigure, kRougeNames.size()>;

/// The words of a text: runs of a-z and 0-9 in lower case, without their endings (porter_stem) where they are longer
/// than three letters and `stemmer` says so.
std::vector<std::string> rouge_words(std::string_view text, bool stemmer);

/// ROUGE-1 and ROUGE-2 of words.
std::array<RougeFigure, 2> rouge_n(const std::vector<std::string>& reference, const std::vector<std::string>& summary);

/// One summary against one reference. Lines are the sentences of rougeLsum. Errors: kArgument where two sentences of
/// rougeLsum are so long that their table of common words would not fit 1 GiB.
RougeScore rouge(std::string_view reference, std::string_view summary, bool stemmer);

/// Which part of references ROUGE sees.
class RougeReach {
 public:
  void look_at(std::string_view reference);
  /// What `other` saw as well.
  void add(const RougeReach& other);
  /// What a reader of the figures must know of the references: how many hold no word that ROUGE counts, and which part
  /// of their letters it passes over, because it knows a-z and 0-9 alone. Empty where it counts nearly all.
  std::string remark() const;

 private:
  std::int64_t references_ = 0;
  std::int64_t wordless_ = 0;  // with letters, but none that count
  std::int64_t counted_ = 0;   // letters and digits
  std::int64_t passed_over_ = 0;
};

/// Over a corpus: the mean of the summaries' figures.
class RougeScorer {
 public:
  explicit RougeScorer(bool stemmer) : stemmer_(stemmer) {}

  /// A summary and its references, at least one: for each kind the figures of the reference with the best F counts, the
  /// first of several. Errors: as rouge(); kArgument without a reference.
  void add(std::string_view summary, std::span<const std::string> references);

  /// Errors: kArgument without a summary.
  RougeScore mean() const;
  /// 95% intervals of the mean F by kind, from `samples` resamples of the summaries with sacrebleu's draws. rouge_score
  /// draws without a seed, so that it has no figure to be equal to.
  std::vector<BootstrapInterval> intervals(std::int64_t samples) const;
  std::int64_t summaries() const noexcept { return static_cast<std::int64_t>(scores_.size()); }
  const RougeReach& reach() const noexcept { return reach_; }

 private:
  bool stemmer_;
  RougeReach reach_;
  std::vector<RougeScore> scores_;
};

}  // namespace weft::metrics
