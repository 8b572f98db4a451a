// SPDX-License-Identifier: Apache-2.0
// Rows of a training batch in other tokens: subword regularisation of a corpus that was tokenised once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include <ATen/core/Tensor.h>

#include "weft/text/sampling/subword_sampler.h"

namespace weft::data {

/// Which draw: another one for each row of a part of a step.
struct RowDraws {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  std::int64_t part = 0;
};

/// Row `row` of a batch drawn anew: of eight draws the first whose number of tokens `fits`, or none.
std::optional<text::DrawnTokens> drawn_row(std::span<const std::int64_t> ids, const text::SubwordSampler& sampler,
                                           const RowDraws& draws, std::int64_t row,
                                           const std::function<bool(std::size_t tokens)>& fits);

/// tokens int64 [B, N] -> [B, N]: each row drawn anew and cut at N tokens, so that it shows less text than before. A
/// draw of fewer than N tokens is drawn again; a row of which eight draws are too short stays as it is.
at::Tensor resampled_rows(const at::Tensor& tokens, const text::SubwordSampler& sampler, const RowDraws& draws);

}  // namespace weft::data
