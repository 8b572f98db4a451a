// SPDX-License-Identifier: Apache-2.0
// Examples as a step of training shows them: as they were read, or in other tokens each time (subword regularisation).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/data/resampled_rows.h"
#include "weft/fine_tuning/encoded_rows.h"

namespace weft::fine_tuning {

struct TrainingBatch {
  models::EncoderInput input;
  std::span<const std::int64_t> examples;
  std::vector<text::DrawnTokens> drawn;  ///< of each row; empty where rows are shown as they were read

  /// Tokens of a row of `input` that hold the first and the last symbol of a token that was read.
  std::int64_t first(std::size_t row, std::int64_t token) const;
  std::int64_t last(std::size_t row, std::int64_t token) const;
};

/// Which tokens are no padding: bool [rows, tokens], the choices of a question as rows; undefined where all are.
at::Tensor kept_tokens(const models::EncoderInput& input);

/// The logit of a place that cannot be chosen: no softmax sees it.
inline constexpr double kNever = -1e30;

/// `logits` [rows, tokens] as float32 with kNever where `keep` of kept_tokens() has padding; without padding as they
/// are.
at::Tensor among_kept(const at::Tensor& logits, const at::Tensor& keep);

/// Draws every row anew, and says where its tokens went. No text is lost: a row of which eight draws are longer than
/// `longest` tokens stays as it is.
std::vector<text::DrawnTokens> draw_anew(std::vector<TokenRow>& rows, const text::SubwordSampler& sampler,
                                         const data::RowDraws& draws, std::int64_t longest);

}  // namespace weft::fine_tuning
