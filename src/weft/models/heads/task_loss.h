// SPDX-License-Identifier: Apache-2.0
// The losses of the heads, as `transformers` computes them. Means are over what is not ignored; 0 where nothing counts.
#pragma once

#include "weft/models/encoder_model.h"

namespace weft::models {

/// regression, single_label_classification or multi_label_classification: the config's problem_type, or where it names
/// none what labels of this dtype mean. Errors: kArgument when the two do not go together.
std::string problem_type_of(const EncoderConfig& config, const at::Tensor& labels);

/// logits [B, labels]; labels as problem_type_of() says.
at::Tensor classification_loss(const EncoderConfig& config, const at::Tensor& logits, const at::Tensor& labels);

/// The mean of squared differences, and the binary cross entropy of every label; `targets` are numbers of any type, as
/// many as the logits.
at::Tensor regression_loss(const at::Tensor& logits, const at::Tensor& targets);
at::Tensor multi_label_loss(const at::Tensor& logits, const at::Tensor& targets);

/// logits [T, classes], labels int64 [T], -100 is ignored.
at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels);

/// logits [B, N], labels int64 [B, N]: 1 for a token that stands in place of another, 0 for one that does not, -100 for
/// one that is ignored, as are those that `keep` [B, N] drops (undefined: none). The binary cross entropy.
at::Tensor replaced_loss(const at::Tensor& logits, const at::Tensor& keep, const at::Tensor& labels);

/// start and end logits [B, N], positions int64 [B]; one outside of the text is ignored. The mean of both ends. A token
/// that `keep` [B, N] drops (undefined: none) is no answer; transformers lets padding compete.
at::Tensor answer_loss(const EncoderOutput& output, const at::Tensor& keep, const EncoderLabels& labels);

}  // namespace weft::models
