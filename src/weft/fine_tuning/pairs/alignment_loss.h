// SPDX-License-Identifier: Apache-2.0
// One head of cross-attention learns where the words of a translation come from (Garg et al. 2019, section 4): links of
// words as links of tokens, also of tokens that are drawn anew, and their loss.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/fine_tuning/pairs/pair_rows.h"
#include "weft/metrics/translation/alignment_error.h"
#include "weft/text/pair/word_ids.h"
#include "weft/text/sampling/drawn_tokens.h"

namespace weft::fine_tuning {

/// A link of two words is one of each token of the one with each token of the other. Tokens from `longest_source` and
/// `longest_target` on are left out. Sorted.
std::vector<TokenLink> token_links(const metrics::AlignmentLinks& links, const text::WordIds& source,
                                   const text::WordIds& target, std::int64_t longest_source,
                                   std::int64_t longest_target);

/// The links of tokens drawn anew; null for a side that stayed as it was. Sorted.
std::vector<TokenLink> drawn_links(std::span<const TokenLink> links, const text::DrawnTokens* source,
                                   const text::DrawnTokens* target);

/// -1/T sum_t sum_s G_ts log A_ts: `weights` A [B, H, N, S] are those of the step that writes token
/// t, of which `head` alone is looked at; G shares out each row of links evenly, and rows without one count nothing. T
/// is `tokens`, those of all targets, so that the sum has the same weight beside the mean loss of the tokens in every
/// batch. Errors: kArgument for a link outside of the weights.
at::Tensor alignment_loss(const at::Tensor& weights, std::int64_t head, std::span<const PairRow> rows,
                          std::int64_t tokens);

}  // namespace weft::fine_tuning
