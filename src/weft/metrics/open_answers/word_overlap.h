// SPDX-License-Identifier: Apache-2.0
// Two normalised answers as bags of words: precision, recall and F1, in the order of operations of SQuAD's program and
// of those that grew from it.
#pragma once

#include <string>
#include <string_view>

namespace weft::metrics {

/// 0 to 1; all 0 where no word is common.
struct WordOverlap {
  double precision = 0.0;
  double recall = 0.0;
  double f1 = 0.0;
};

/// Words lie between single blanks, as normalize_answer() writes them.
WordOverlap word_overlap(std::string_view prediction, std::string_view truth);

/// 2pr / (p + r), 0 where both are 0.
double f1_of(double precision, double recall) noexcept;

/// As TriviaQA's program compares: as normalize_answer(), but punctuation, the underscore and the quotes ‘ ’ ´ become
/// blanks. Errors: kArgument for text that is not UTF-8.
std::string normalize_trivia_answer(std::string_view text);

}  // namespace weft::metrics
