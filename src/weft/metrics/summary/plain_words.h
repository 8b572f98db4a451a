// SPDX-License-Identifier: Apache-2.0
// The words of a text in any script, for methods that compare sentences of one text. ROUGE's own words are of a-z and
// 0-9 alone (rouge.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::metrics {

/// Text in lower case between blanks and signs (ASCII's, and the quotes, stops and commas of other scripts), in order.
/// Where a script writes no blanks, each letter is a word: Han, Hiragana, Katakana. Thai, Lao, Khmer and Burmese have
/// no blanks either, and stay together. A byte that is no UTF-8 is in no word.
std::vector<std::string> plain_words(std::string_view text);

/// Whether ROUGE sees at least half of the letters and digits of texts: those of a-z and 0-9. True of texts without
/// any.
bool suits_rouge(std::span<const std::string> texts);

/// rouge_words() with the stemmer, or plain_words() where `for_rouge` says that ROUGE does not suit the text.
std::vector<std::string> scored_words(std::string_view text, bool for_rouge);

}  // namespace weft::metrics
