// SPDX-License-Identifier: Apache-2.0
// The labels of a restorer: what each says about its word, and which of them go together in a text.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace weft::tasks {

/// The marks that a label may put behind its word.
inline constexpr std::string_view kWordMarks = ",.?!;:";

/// What a label says about a word.
struct WordForm {
  enum class Case { kLower, kTitle, kUpper };
  Case letters = Case::kLower;
  char mark = 0;  ///< one of kWordMarks behind the word, or 0
};

/// "O" for a lower-case word without a mark, else "S-", then "", "Title" or "UPPER", then a mark or nothing. Errors:
/// kArgument naming the label and the forms that there are.
WordForm parse_word_form(std::string_view label);

/// The best labels of one word: a small word or none, with a full stop behind it or not.
struct WordLabels {
  struct Choice {
    double score = -std::numeric_limits<double>::infinity();  ///< the logarithm of its probability
    std::size_t label = 0;
  };
  /// One probability for each form; none for a word without a label, which is form 0.
  WordLabels(std::span<const double> probabilities, std::span<const WordForm> forms);
  WordLabels() : WordLabels({}, {}) {}

  std::array<std::array<Choice, 2>, 2> choices;  ///< [is small][has a full stop]
  bool has_case = true;                          ///< false for a word that is the same in capitals, as a number is
};

/// The labels with the largest product of probabilities, where a small word behind a full stop costs
/// kSmallBehindFullStop of its logarithm (the algorithm of Viterbi 1967). Words are labelled one by one, and their
/// marks and capitals need not agree otherwise.
std::vector<std::size_t> agreeing_labels(std::span<const WordLabels> words);

/// In books 11 of 1,000 words behind a full stop are small, 900 of 1,000 otherwise: the logarithm of the ratio.
constexpr double kSmallBehindFullStop = 4.4;

}  // namespace weft::tasks
