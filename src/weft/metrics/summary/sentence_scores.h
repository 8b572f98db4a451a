// SPDX-License-Identifier: Apache-2.0
// What each sentence of a text is worth as its summary: the F of ROUGE-1 against the rest of the text, by which PEGASUS
// chooses gap sentences (Zhang et al. 2020, section 3.1.1).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace weft::metrics {

/// How words count: as often as they come ("Orig" in the paper), or once ("Uniq").
enum class WordCounts { kAll, kOnce };

/// Of each sentence by itself ("Ind"), ROUGE-1's F, 0 to 1, against all other sentences: with kAll rouge() of the other
/// sentences joined. A sentence or a rest without words has 0. Words are those of rouge_words() with the
/// stemmer, or plain_words() where ROUGE sees less than half of the letters.
std::vector<double> sentence_scores(std::span<const std::string> sentences, WordCounts counts);

/// The sentences in the order in which they come to a summary ("Seq"): each time the one that, with those before it,
/// has the best F against the rest; of equal ones the first. The first m of the list are the paper's choice of m.
std::vector<std::size_t> greedy_order(std::span<const std::string> sentences, WordCounts counts);

}  // namespace weft::metrics
