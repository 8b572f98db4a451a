// SPDX-License-Identifier: Apache-2.0
// Gap sentences (Zhang et al. 2020, "PEGASUS", section 3.1): sentences of a text are hidden, and written as its
// summary. Which ones, scores say that the caller has (metrics/summary/sentence_scores.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/text/noise/token_noise.h"

namespace weft::text {

/// A text in tokens, and what each of its sentences is worth.
struct ScoredText {
  std::span<const std::int64_t> ids;
  std::span<const std::size_t> ends;  ///< of the sentences, in tokens, rising; the last one is the text's
  std::span<const double> scores;     ///< one a sentence; of equal ones the first sentence counts as better
};

/// How many sentences are hidden, and what stands for one.
struct GapRule {
  double share = 0.3;      ///< of the sentences, rounded; at least one, and one always stays
  double score_noise = 0;  ///< each score is multiplied by 1 + u, u uniform in [-score_noise, score_noise)
  std::int64_t mask = 0;
  std::size_t most = 0;  ///< tokens of the target; a sentence that has no room there is passed over
};

/// The sentences that are hidden, rising. Errors: kArgument for fewer than two sentences, and where the lists differ in
/// length.
std::vector<std::size_t> chosen_gaps(const ScoredText& text, const GapRule& rule, NoiseDraws& draws);

/// The source has one mask in the place of each sentence that chosen_gaps() takes; the target has these sentences in
/// the order of the text. Errors: as there; kArgument where no sentence has room.
NoisedText gap_sentences(const ScoredText& text, const GapRule& rule, NoiseDraws& draws);

}  // namespace weft::text
