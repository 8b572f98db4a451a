// SPDX-License-Identifier: Apache-2.0
// Noise on words for sources that a model made of texts (back-translation; Edunov et al. 2018, section 3.3): what a
// model learns from must not be easier than what people write.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weft/text/noise/noise_draws.h"

namespace weft::text {

struct WordNoise {
  double drop = 0.1;         ///< probability that a word is missing
  double blank = 0.1;        ///< probability that a word that is left is the filler
  std::size_t shuffle = 3;   ///< no word moves over more places than this; 0: none moves
  std::string filler = "_";  ///< a word that texts do not have
};

/// Whether one of the words of `text`, which stand between blanks as for noised_words(), is `word`.
bool has_word(std::string_view text, std::string_view word);

/// The words of a text, between blanks, with single blanks between them. Of a text of which all words would be missing,
/// one that is drawn stays. Words are put in the order of place + U(0, shuffle + 1).
std::string noised_words(std::string_view text, const WordNoise& noise, NoiseDraws& draws);

}  // namespace weft::text
