// SPDX-License-Identifier: Apache-2.0
// The error rate of word alignments (Och and Ney 2003), AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|) with the found
// links A, the sure links S, and the possible links P, which hold S; and alignments as text.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace weft::metrics {

/// A word of the source and a word of the target, from 0.
using AlignmentLink = std::pair<std::int64_t, std::int64_t>;
using AlignmentLinks = std::set<AlignmentLink>;

/// The links of one pair of sentences.
struct Alignment {
  AlignmentLinks sure;
  AlignmentLinks possible;  ///< without the sure ones
};

/// A line in Pharaoh's format: "0-0 1-2"; "1p2" and "1?2" are possible links. `first` is the number of the first
/// word, 0 or 1. Errors: kFormat naming the link that is none.
Alignment parse_alignment(std::string_view line, std::int64_t first = 0);

/// The links in Pharaoh's format, by source word and then by target word: "0-0 1-2".
std::string pharaoh_text(const AlignmentLinks& links);

/// Errors: kFormat naming the first link of `alignment` with a word that a pair of so many words does not have.
void check_words(const Alignment& alignment, std::int64_t source_words, std::int64_t target_words);

/// Keeps a few numbers.
class AlignmentScorer {
 public:
  /// One pair of sentences. All links of `found` count alike, sure or possible.
  void add(const Alignment& found, const Alignment& truth);

  /// Nothing where no link was found and none is sure.
  std::optional<double> error_rate() const;
  /// |A ∩ P| / |A|; nothing where no link was found.
  std::optional<double> precision() const;
  /// |A ∩ S| / |S|; nothing where no link is sure.
  std::optional<double> recall() const;
  std::int64_t sentences() const noexcept { return sentences_; }

 private:
  std::int64_t sentences_ = 0;
  std::int64_t found_ = 0;
  std::int64_t sure_ = 0;
  std::int64_t found_sure_ = 0;
  std::int64_t found_possible_ = 0;  // the sure ones too
};

}  // namespace weft::metrics
