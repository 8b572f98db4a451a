// SPDX-License-Identifier: Apache-2.0
// Texts that an encoder-decoder learns to restore: tokens masked, deleted, filled in, turned round and permuted as in
// BART (Lewis et al. 2020, section 2.2), and spans as in T5 (Raffel et al. 2020, section 3.1.4). Pure functions of ids
// and draws; special tokens around a text are not theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/text/noise/noise_draws.h"

namespace weft::text {

using NoiseIds = std::vector<std::int64_t>;

/// What the encoder reads, and what the decoder learns to write.
struct NoisedText {
  NoiseIds source;
  NoiseIds target;
};

/// Each id is `mask` with this probability.
NoiseIds masked_tokens(std::span<const std::int64_t> ids, double share, std::int64_t mask, NoiseDraws& draws);

/// Each id is missing with this probability; of a text of which all would be, one that is drawn stays.
NoiseIds deleted_tokens(std::span<const std::int64_t> ids, double share, NoiseDraws& draws);

/// How text is filled in.
struct Infilling {
  double share = 0.3;     ///< of the tokens, rounded up, lie in spans
  double mean = 3.0;      ///< of the spans' lengths, which are Poisson numbers; the last span is cut at the share
  std::int64_t mask = 0;  ///< stands for each span; a span of no token is a mask more
  std::size_t most = 0;   ///< ids of the result; spans of no token that have no room are left out
};

/// Spans of `ids` replaced by one mask each. Two spans have a token between them where the text has so many. Errors:
/// kArgument where `most` is less than the text has.
NoiseIds filled_in(std::span<const std::int64_t> ids, const Infilling& how, NoiseDraws& draws);

/// Begins at a token that is drawn, and goes on from the end to the beginning.
NoiseIds turned_round(std::span<const std::int64_t> ids, NoiseDraws& draws);

/// The sentences in an order that is drawn; `ends` are their ends in tokens, rising, the last one the text's. Errors:
/// kArgument for others.
NoiseIds permuted_sentences(std::span<const std::int64_t> ids, std::span<const std::size_t> ends, NoiseDraws& draws);

/// How many tokens T5 hides in a text of `tokens`, and in how many spans: clip(round(share n), 1, n - 1), and round of
/// that over `mean`, at least one and at most as many as there are tokens left.
struct SpanCounts {
  std::size_t hidden = 0;
  std::size_t spans = 0;
};
/// Errors: kArgument for fewer than two tokens.
SpanCounts span_counts(std::size_t tokens, double share, double mean);

/// T5's spans: hidden tokens and others are cut into as many parts at random, and alternate, the others first. The
/// source has sentinel k in the place of span k; the target has each sentinel and its span. So 568 tokens at 15% and 3
/// become 511 and 113, without an end; no sentinel follows the last span (a text always ends with one). Errors:
/// kArgument for fewer than two tokens, and for more spans than sentinels.
NoisedText hidden_spans(std::span<const std::int64_t> ids, const SpanCounts& counts,
                        std::span<const std::int64_t> sentinels, NoiseDraws& draws);

}  // namespace weft::text
