// SPDX-License-Identifier: Apache-2.0
// Orders in which sentences are taken into a summary, by methods that need no training. Of equal sentences the earlier
// one comes first.
#pragma once

#include <cstddef>
#include <vector>

#include "weft/tasks/extractive/sentence_terms.h"

namespace weft::tasks {

/// SumBasic (Nenkova and Vanderwende 2005): of the sentences that have the likeliest word of those left, the one whose
/// words are likeliest in the mean; then the probabilities of its words are squared.
/// At most `most_sentences`, and none without a word.
std::vector<std::size_t> sum_basic_order(const SentenceTerms& text, std::size_t most_sentences);

/// How LexRank joins two sentences.
struct LexRankOptions {
  double threshold = 0.1;   ///< the cosine above which they are joined
  double damping = 0.85;    ///< how often the walk follows a link; else it goes to any sentence
  bool continuous = false;  ///< links weigh their cosine, and there is no threshold
};

/// LexRank (Erkan and Radev 2004): the share of a random walk over sentences that are alike, by the cosine of their
/// words' counts times ln(sentences / sentences with the word). Errors: kUnsupported for more than 20,000 sentences.
std::vector<double> lex_rank_scores(const SentenceTerms& text, const LexRankOptions& options = {});

/// Latent semantic analysis (Steinberger and Ježek 2004): the length of a sentence in the space of the singular vectors
/// whose value is at least half of the largest, each times its value. Errors: kUnsupported for more than 5,000
/// sentences.
std::vector<double> lsa_scores(const SentenceTerms& text);

/// Sentences by falling score.
std::vector<std::size_t> order_by_score(const std::vector<double>& scores);

}  // namespace weft::tasks
