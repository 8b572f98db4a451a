// SPDX-License-Identifier: Apache-2.0
// Structure for ETC (Ainslie et al. 2020, sections 3.3 and 3.4): which sentence a token is of, by a rule over token
// ids, and what contrastive predictive coding hides and compares.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/layers/etc/global_local_attention.h"

namespace weft::layers {

/// When a sentence ends.
struct SentenceRule {
  std::vector<std::int64_t> ends;  ///< behind a token with one of these ids
  std::int64_t longest = 0;        ///< and after so many tokens; 0: at no number of them
  std::int64_t most = 0;           ///< most sentences that a text may have; 0: any number
};

/// ids int64 [B, N]; keep bool [B, N], false at padding, or undefined. Sentences are numbered from 0 in each row, so
/// that global token g is that of sentence g; padding is in none (-1) and ends none. G is the largest number of
/// sentences of a row, at least 1, and global_keep says which ones a row has. Errors: kArgument for shapes, dtypes and
/// more than `most` sentences.
GlobalLocalStructure sentence_structure(const at::Tensor& ids, const at::Tensor& keep, const SentenceRule& rule);

/// ids [B, N] with `mask_id` for all tokens of the sentences `chosen`, bool [B, G]; sentence int64 [B, N] as above.
at::Tensor hide_sentences(const at::Tensor& ids, const at::Tensor& sentence, const at::Tensor& chosen,
                          std::int64_t mask_id);

/// Contrastive predictive coding (section 3.4; the loss of van den Oord et al. 2018): what the model says at the global
/// tokens of hidden sentences, `predicted` [B, G, hidden], has to be told apart by its product with what it says where
/// nothing is hidden, `seen` [B, G, hidden]: the mean of -log softmax_j(predicted_i . seen_j)_i over the chosen global
/// tokens, bool [B, G], of the whole batch. 0, with a graph, where none is chosen.
at::Tensor contrastive_loss(const at::Tensor& predicted, const at::Tensor& seen, const at::Tensor& chosen);

}  // namespace weft::layers
