// SPDX-License-Identifier: Apache-2.0
// A text as sentences of numbered words: what methods that choose sentences count.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/text/sentences/sentences.h"

namespace weft::tasks {

/// How often a word stands in a sentence.
struct TermCount {
  std::uint32_t term = 0;
  std::int64_t count = 0;
};

struct SentenceTerms {
  std::vector<text::SentencePlace> places;        ///< of the sentences in the text
  std::vector<std::vector<std::uint32_t>> words;  ///< of each sentence, in order
  std::vector<std::vector<TermCount>> counts;     ///< the same, each word once, by rising number
  std::uint32_t terms = 0;                        ///< different words

  std::size_t sentences() const noexcept { return places.size(); }
};

/// Sentences by text::find_sentences with `rules`; words are metrics::plain_words(). Errors: kArgument for text that is
/// not UTF-8.
SentenceTerms sentence_terms(std::string_view text, const text::SentenceRules& rules = {});

}  // namespace weft::tasks
