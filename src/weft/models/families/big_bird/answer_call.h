// SPDX-License-Identifier: Apache-2.0
// What BigBird adds to a call that answers a question.
#pragma once

#include "weft/models/encoder/batch.h"

namespace weft::models {

/// EncoderRules::complete: under a question-answering head the question's tokens cannot be an answer, and the others
/// have token type 1 where the call gives no types. `places` where the texts lie; undefined: the first separator ends
/// the question.
void complete_answer(EncoderBatch& batch, const EncoderConfig& config, Head head, const EncoderInput& input,
                     const at::Tensor& places);

}  // namespace weft::models
