// SPDX-License-Identifier: Apache-2.0
// Masked language modelling (Devlin et al. 2018, BERT, section 3.1): of the positions chosen for prediction 80% show
// the mask, 10% a random token and 10% themselves. Which ones is a pure function of (seed, step, part, row, position).
#pragma once

#include <cstdint>

#include "weft/data/batch.h"
#include "weft/text/tokenizer.h"

namespace weft::data {

/// How positions are drawn, and what may stand in their place.
struct MaskingOptions {
  double probability = 0.15;    ///< of a position to be predicted; every row predicts at least one
  std::int64_t vocabulary = 0;  ///< random tokens come from [0, vocabulary)
  std::int64_t mask_id = 0;
  std::uint64_t seed = 0;
};

/// tokens int64 [B, N] -> the masked inputs, and labels that are kIgnoredLabel wherever nothing is predicted.
Batch masked_batch(const at::Tensor& tokens, const MaskingOptions& options, std::int64_t step, std::int64_t part);

/// How large a model's vocabulary is over `tokenizer`: an encoder has one id more, the last, which is the mask.
std::int64_t model_vocabulary(const text::Tokenizer& tokenizer, bool is_decoder);

}  // namespace weft::data
