// SPDX-License-Identifier: Apache-2.0
// Companions of a call of ETC, as it gives them or by rule.
#pragma once

#include "weft/layers/etc/sentence_structure.h"
#include "weft/models/encoder/batch.h"

namespace weft::models {

/// Sentences and paragraphs of ids int64 [R, N] by the rule of `config`; keep bool [R, N], or undefined: all.
layers::TextStructure structure_by_rule(const EncoderConfig& config, const at::Tensor& ids, const at::Tensor& keep);

/// Fills in the companions of a batch whose ids and mask are there (EncoderRules::complete).
/// Without given ones each sentence has one (layers::text_structure), and its text is looked at before it was masked.
/// Errors: kArgument naming the tensor and what is wrong with it.
void add_global_tokens(EncoderBatch& batch, const EncoderConfig& config, Head head, const EncoderInput& input,
                       const at::Tensor& places);

}  // namespace weft::models
