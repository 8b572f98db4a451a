// SPDX-License-Identifier: Apache-2.0
// Masked language modelling (Devlin et al. 2018, BERT, section 3.1): of the positions chosen for prediction 80% show
// the mask, 10% a random token and 10% themselves. Which ones is a pure function of (seed, step, part, row, position);
// they are single tokens, whole words, or spans of words (Joshi et al. 2020, SpanBERT, section 3.1).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/data/batch.h"
#include "weft/text/tokenizer.h"

namespace weft::data {

/// What is chosen for prediction at once.
enum class MaskedUnit {
  kTokens,  ///< every token by itself
  kWords,   ///< every word by itself, with all of its tokens; what is shown is drawn token by token
  kSpans,   ///< runs of words of a geometric length (p = 0.2, 1 to 10), until `probability` of the row is chosen; a
            ///< span is masked, random or itself as a whole
};

/// The unit of that name: "tokens", "words" or "spans". Errors: kArgument.
MaskedUnit masked_unit(const std::string& name);

/// How positions are drawn, and what may stand in their place.
struct MaskingOptions {
  double probability = 0.15;    ///< of a position to be predicted; every row predicts at least one
  std::int64_t vocabulary = 0;  ///< random tokens come from [0, vocabulary)
  std::int64_t mask_id = 0;
  std::uint64_t seed = 0;
  MaskedUnit unit = MaskedUnit::kTokens;
  std::shared_ptr<const std::vector<bool>> begins_word = nullptr;  ///< text::word_beginnings(), for words and spans
};

/// The id of the mask of an encoder over `vocabulary` ids: its last one, or, where the tokeniser has as many, the
/// tokeniser's own. Errors: kArgument for a model that has no such id.
std::int64_t mask_id_of(const text::Tokenizer& tokenizer, std::int64_t vocabulary);

/// Options for texts of `tokenizer`, with the mask that mask_id_of() says.
MaskingOptions masking_options(const text::Tokenizer& tokenizer, std::int64_t mask_id, double probability,
                               const std::string& unit, std::int64_t seed);

/// tokens int64 [B, N] -> the masked inputs, and labels that are kIgnoredLabel wherever nothing is predicted. A word
/// begins at a row's first token and wherever options.begins_word says. Errors: kArgument for options that lack a
/// vocabulary, a mask or, for words and spans, begins_word of as many ids.
Batch masked_batch(const at::Tensor& tokens, const MaskingOptions& options, std::int64_t step, std::int64_t part);

/// The ids of a masked batch as they were before: every one that was changed has its label.
at::Tensor unmasked_ids(const Batch& batch);

/// How large a model's vocabulary is over `tokenizer`: an encoder has one id more, the last, which is the mask.
std::int64_t model_vocabulary(const text::Tokenizer& tokenizer, bool is_decoder);

}  // namespace weft::data
