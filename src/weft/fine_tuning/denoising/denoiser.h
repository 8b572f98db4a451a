// SPDX-License-Identifier: Apache-2.0
// Pairs of plain texts: a text is cut into pieces of whole sentences once, and each time a piece is shown, noise is
// drawn anew. What is shown is a pure function of the piece and a key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/fine_tuning/pairs/pair_config.h"
#include "weft/fine_tuning/pairs/pair_rows.h"
#include "weft/text/noise/token_noise.h"
#include "weft/text/pair/pair_tokenizer.h"

namespace weft::fine_tuning {

/// What came of a text's pieces.
struct CutText {
  std::int64_t pieces = 0;
  std::int64_t left_out = 0;  ///< pieces in which nothing can be hidden: one sentence for gap-sentences, one token else
};

/// Noise of one run. Copies what it needs of the tokeniser.
class Denoiser {
 public:
  /// Errors: kArgument for a vocabulary without the tokens that the noise writes (a mask, or T5's sentinels) or with
  /// different ids for sources and targets, and for limits that leave no room for a text.
  Denoiser(const PairConfig& config, const models::EncoderDecoderConfig& model, const text::PairTokenizer& tokenizer);

  /// Tokens of the longest piece, without a frame: the noised text and its target fit into the model and a batch.
  std::int64_t longest() const noexcept { return static_cast<std::int64_t>(longest_); }

  /// Adds the pieces of a text to `pieces`, as many whole sentences as fit in each; a longer sentence is cut. The
  /// source of such a row is the piece without a frame, its target the end and the score of each sentence in turn.
  /// Errors: those of the tokeniser; kFormat for ids that the model has no row for.
  CutText add(const std::string& text, const std::string& where, const text::PairTokenizer& tokenizer,
              PairRows& pieces) const;

  /// What is shown of a row of add(): noised source and target, each in its frame.
  PairRow drawn(const PairRow& piece, std::uint64_t key) const;

 private:
  struct Sentence;
  std::vector<Sentence> sentences_of(const std::string& text, const std::string& where,
                                     const text::PairTokenizer& tokenizer) const;
  bool can_hide(std::size_t sentences, std::size_t tokens) const;
  std::vector<std::int64_t> scores_of(const std::vector<std::string>& sentences) const;
  text::NoisedText noised(const PairRow& piece, text::NoiseDraws& draws) const;
  text::NoisedText with_gaps(const PairRow& piece, text::NoiseDraws& draws) const;
  text::NoiseIds restored_from(const PairRow& piece, text::NoiseDraws& draws) const;
  bool fits(std::size_t tokens) const;

  std::string noise_;
  std::string gap_choice_;
  double share_;
  double span_;
  double score_noise_;
  text::Frame frame_;
  std::int64_t vocabulary_;
  std::size_t most_source_ = 0;  // without the frame
  std::size_t most_target_ = 0;
  std::size_t longest_ = 0;
  std::int64_t mask_ = -1;
  std::vector<std::int64_t> sentinels_;
};

/// A key for row `row` of a part of a step. Held-out texts have step -1 and the seed 0, so that all runs and seeds are
/// measured on the same ones.
std::uint64_t noise_key(std::uint64_t seed, std::int64_t step, std::int64_t part, std::int64_t row);

/// How many sentinels a vocabulary that is learned for T5's noise gets: <extra_id_0> has the highest id.
inline constexpr std::int64_t kSentinels = 100;
/// "<extra_id_3>".
std::string sentinel_name(std::int64_t number);

}  // namespace weft::fine_tuning
