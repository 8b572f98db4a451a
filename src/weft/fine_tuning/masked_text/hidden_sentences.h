// SPDX-License-Identifier: Apache-2.0
// Contrastive predictive coding of ETC (Ainslie et al. 2020, section 3.4): whole sentences are hidden, and what the
// model says at their global tokens has to be told apart by what it says where nothing is hidden.
#pragma once

#include <cstdint>

#include "weft/data/batch.h"
#include "weft/models/encoder_model.h"

namespace weft::fine_tuning {

/// What is drawn for one part of a step.
struct SentenceDraw {
  double share = 0.1;  ///< of the sentences that are hidden
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  std::int64_t part = 0;
};

/// One batch twice.
struct HiddenSentences {
  models::EncoderInput hidden;  ///< with chosen sentences behind the mask, beside tokens that are masked anyway
  models::EncoderInput seen;    ///< with nothing masked
  at::Tensor labels;            ///< int64 [B, N] of `hidden`; tokens of hidden sentences have none
  at::Tensor chosen;            ///< bool [B, G]: the global tokens of hidden sentences
};

/// `batch` as masked for an encoder with global tokens; `mask_id` is the mask. Each sentence of a row is hidden with
/// the probability `draw.share`, a pure function of (seed, step, part, row, sentence), whichever tokens are masked. The
/// global token of a hidden sentence says so (layers::GlobalToken::kHiddenSentence).
HiddenSentences hide_sentences(const data::Batch& batch, const models::EncoderConfig& config, std::int64_t mask_id,
                               const SentenceDraw& draw);

}  // namespace weft::fine_tuning
