// SPDX-License-Identifier: Apache-2.0
// The same text in other tokens, drawn anew each time it is shown: subword regularisation (Kudo 2018; Provilkov et al.
// 2020). It works on ids, so that a corpus is tokenised once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "weft/text/sampling/drawn_tokens.h"
#include "weft/text/tokenizer.h"

namespace weft::text {

/// How far from the tokeniser's own choice a draw may be. One of the two, for the kind of model that the tokeniser has.
struct SubwordSampling {
  double bpe_dropout = 0.0;    ///< byte-pair encoding: probability that a merge is left out (BPE-dropout, algorithm 1)
  double unigram_alpha = 0.0;  ///< unigram model: segmentations are drawn with probability^alpha (Kudo, section 3.3)
};

class SubwordSampler {
 public:
  virtual ~SubwordSampler() = default;
  /// The same text: each word of `ids` is put together anew. A function of its arguments alone. Special and added
  /// tokens stay as they are. Errors: kArgument for an id outside of the vocabulary.
  virtual DrawnTokens draw(std::span<const std::int64_t> ids, std::uint64_t seed) const = 0;
};

/// Words end where word_beginnings() says that another begins; merges and pieces across them do not happen. Errors:
/// kArgument where `sampling` has both or none; kUnsupported for a tokeniser whose model is of another kind, or is
/// neither a tokenizer.json nor a side of a PairTokenizer.
std::unique_ptr<SubwordSampler> make_subword_sampler(const Tokenizer& tokenizer, const SubwordSampling& sampling);

}  // namespace weft::text
