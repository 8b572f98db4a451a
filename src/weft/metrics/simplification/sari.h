// SPDX-License-Identifier: Apache-2.0
// SARI (Xu et al. 2016) as its authors' program SARI.py computes it: what a simpler text keeps, deletes and adds,
// beside what people keep, delete and add. Later programs divide the recall of what is kept by another sum, and cut
// words otherwise: their figures differ.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weft::metrics {

/// 0 to 1: means over n-grams of 1 to 4 words.
struct SariScore {
  double keep = 0.0;      ///< F1
  double deletion = 0.0;  ///< precision
  double addition = 0.0;  ///< F1 over sets

  double mean() const noexcept { return (keep + deletion + addition) / 3; }
};

/// Of one text. Words lie between single blanks, in lower case; blanks around a text do not count. Errors: kArgument
/// without a reference, and for text that is not UTF-8.
SariScore sari(std::string_view source, std::string_view simplified, std::span<const std::string> references);

/// Means over texts.
class SariScorer {
 public:
  /// Errors: as sari().
  void add(std::string_view simplified, std::string_view source, std::span<const std::string> references);
  /// The mean of the texts' scores, and the means of their parts. Errors: kArgument without a text.
  double score() const;
  SariScore parts() const;
  std::int64_t texts() const noexcept { return texts_; }

 private:
  std::int64_t texts_ = 0;
  double sum_ = 0.0;
  SariScore sums_;
};

}  // namespace weft::metrics
