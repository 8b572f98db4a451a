// SPDX-License-Identifier: Apache-2.0
// Generation for a batch of texts with any decoder: greedy search, sampling, beam search and beam sampling, as
// `transformers` has them. Finished texts leave the batch.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "weft/generation/decoder.h"
#include "weft/generation/processors/processor.h"
#include "weft/generation/settings/generation_config.h"

namespace weft::generation {

using Ids = std::vector<std::int64_t>;

/// Why a text ends where it does.
enum class FinishReason {
  kLength,       ///< the longest length that the settings allow
  kStopToken,    ///< one of eos_token_id came (it is the last of `ids`)
  kStopString,   ///< SearchRequest::stops said so
  kCallback,     ///< the caller's callback returned false
  kInterrupted,  ///< weft::interrupted(): Ctrl-C or SIGTERM under a guard
};

/// A text that was made.
struct Sequence {
  Ids ids;             ///< the new tokens only
  double score = 0.0;  ///< of beams the sum of the tokens' scores over the length's penalty; else SearchRequest::scores
  FinishReason reason = FinishReason::kLength;
};

/// What to go on from, and who is asked on the way.
struct SearchRequest {
  std::vector<Ids> prompts;       ///< of one length, at least one token each; a start token where there is a source
  std::vector<Ids> sources = {};  ///< what the encoder read, without padding; empty: the prompts
  Ids numbers = {};               ///< of the prompts, for their draws; empty: their places, from 0
  Processor constraint = {};      ///< which tokens may come next: allow_only(), keep_trees()
  /// Whether the new tokens of a text end it, as one of stop_strings does. Called from several threads at once.
  std::function<bool(std::span<const std::int64_t> made)> stops = {};
  /// Each new token of text `row` (prompt * num_return_sequences + its number) as it comes; false ends everything. Not
  /// with beams.
  std::function<bool(std::int64_t row, std::int64_t id)> on_token = {};
  /// What all texts of prompt `prompt` begin with, those that ended and those that go on, whenever there is more of it:
  /// the best text will begin so, too. Not called where a prompt has several texts without beams.
  std::function<void(std::int64_t prompt, std::span<const std::int64_t> settled)> on_settled = {};
  /// Whether greedy search and sampling sum the logarithms of their tokens' probabilities, which takes some time.
  bool scores = false;
};

/// For each prompt its texts, best first, num_return_sequences of them (fewer where a search found no more). Texts of
/// a prompt do not depend on the others of the batch but by rounding; what is drawn is a pure function of the
/// decoder, the text and (config.seed, number * num_return_sequences + copy, step).
/// Errors: kArgument for prompts that are empty or of several lengths, ids outside the vocabulary, settings that
/// contradict each other, more tokens than learned positions; kNumeric where scores are not finite.
std::vector<std::vector<Sequence>> search(Decoder& decoder, const SearchRequest& request,
                                          const GenerationConfig& config);

}  // namespace weft::generation
