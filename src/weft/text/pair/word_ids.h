// SPDX-License-Identifier: Apache-2.0
// Which ids of a text belong to which of its words: what joins a model's tokens to the words that people align.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/text/pair/pair_tokenizer.h"

namespace weft::text {

/// What lies between the ASCII white space of a text, in order, none of it empty: aligners count words so, and a
/// no-break space is a letter to them. Views into `text`.
std::vector<std::string_view> words_between_blanks(std::string_view text);

/// A text in words, and the ids that a model reads for it.
struct WordIds {
  std::vector<std::string> words;
  std::vector<std::int64_t> ids;   ///< special tokens too
  std::vector<std::int64_t> word;  ///< of each id the number of its word, which has the blanks before it too; -1 for
                                   ///< special tokens and what stands before and behind all words
  /// The tokeniser has tokens that lie in two words, or cuts a word otherwise when it stands alone: `ids` are those of
  /// the words one by one, and not those of PairTokenizer::encode.
  bool one_by_one = false;
};

/// `before` (a language code) is read in front of the text and is no word. A word that the tokeniser drops has no id.
/// Errors: as PairTokenizer::encode.
WordIds read_words(const PairTokenizer& tokenizer, std::string_view text, Side side, std::string_view before = {});

/// The same of a text that is nothing but text, as training reads it: `ids` are those of PairTokenizer::encode_plain
/// within the tokeniser's frame.
WordIds read_plain_words(const PairTokenizer& tokenizer, std::string_view text, Side side);

}  // namespace weft::text
