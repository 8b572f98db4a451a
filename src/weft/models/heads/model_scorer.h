// SPDX-License-Identifier: Apache-2.0
// A finished model taken apart where its last hidden states become scores, for losses that need both: distillation.
#pragma once

#include "weft/models/encoder_model.h"
#include "weft/models/heads/vocabulary_head.h"
#include "weft/models/language_model.h"

namespace weft::models {

/// What scores the hidden states of `model` over its vocabulary. The model must outlive it. Errors: kUnsupported for an
/// encoder without a masked-lm head.
VocabularyScorer scorer_of(LanguageModelImpl& model);
VocabularyScorer scorer_of(EncoderModelImpl& model);

/// EncoderModelImpl::forward() whose output has the last hidden states [rows, N, hidden], too, whatever the head.
EncoderOutput forward_with_hidden(EncoderModelImpl& model, const EncoderInput& input);

}  // namespace weft::models
