// SPDX-License-Identifier: Apache-2.0
// Structure for ETC (Ainslie et al. 2020, sections 3.3 and 3.4): which sentence a token is of, by a rule over token
// ids, and what contrastive predictive coding hides and compares.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/attention/mechanisms/etc/etc_structure.h"

namespace weft::layers {

using attention::EtcStructure;

/// Ids of global tokens by what they stand for, as released for pre-training, WikiHop and HotpotQA; [CLS], whose id
/// there is that of the vocabulary, has the next one here.
enum class GlobalToken : std::int64_t {
  kPadding = 0,
  kSentence = 1,
  kHiddenSentence = 2,  ///< one that the contrastive loss is about
  kQuestion = 3,
  kCandidate = 4,
  kParagraph = 5,
  kClass = 6,
};

/// When a sentence ends.
struct SentenceRule {
  std::vector<std::int64_t> ends;  ///< behind a token with one of these ids, and behind more of them that follow
  std::int64_t longest = 0;        ///< and after so many tokens; 0: at no number of them
  std::int64_t most = 0;           ///< most global tokens that a text may have; 0: any number
  std::vector<std::int64_t> paragraph_ends = {};  ///< the same for paragraphs, which end sentences, too; without any
                                                  ///< there are no paragraphs
  std::int64_t room = 0;  ///< global tokens of a text; what would begin another one belongs to the last sentence, and
                          ///< to the last paragraph; 0: any number
};

/// Structure by rule, and the global tokens that it is about.
struct TextStructure {
  EtcStructure structure;
  at::Tensor global_ids;  ///< int64 [B, G]: kParagraph, kSentence or kPadding
};

/// ids int64 [B, N]; keep bool [B, N], false at padding, or undefined. Global tokens are numbered from 0 in each row in
/// the order of the text: one a sentence, and where there are paragraphs one a paragraph before its first sentence.
/// Padding belongs to none (-1) and ends none. G is the largest number of a row, at least 1, and global_keep says which
/// ones a row has. Errors: kArgument for shapes, dtypes and more than `most` global tokens.
TextStructure text_structure(const at::Tensor& ids, const at::Tensor& keep, const SentenceRule& rule);

/// The structure alone.
EtcStructure sentence_structure(const at::Tensor& ids, const at::Tensor& keep, const SentenceRule& rule);

/// ids [B, N] with `mask_id` for all tokens of the sentences `chosen`, bool [B, G]; sentence int64 [B, N] as above.
at::Tensor hide_sentences(const at::Tensor& ids, const at::Tensor& sentence, const at::Tensor& chosen,
                          std::int64_t mask_id);

/// Contrastive predictive coding (section 3.4; the loss of van den Oord et al. 2018): what the model says at the global
/// tokens of hidden sentences, `predicted` [B, G, hidden], has to be told apart by its product with what it says where
/// nothing is hidden, `seen` [B, G, hidden]: the mean of -log softmax_j(predicted_i . seen_j)_i over the chosen global
/// tokens, bool [B, G], of the whole batch. 0, with a graph, where none is chosen.
at::Tensor contrastive_loss(const at::Tensor& predicted, const at::Tensor& seen, const at::Tensor& chosen);

}  // namespace weft::layers
