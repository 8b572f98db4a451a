// SPDX-License-Identifier: Apache-2.0
// What the parameters begin with that a LittleBird has and the model that it is made from has not (Lee, Han and Shin
// 2022, section 4).
#pragma once

#include <string>

#include "weft/models/encoder_model.h"

namespace weft::models {

/// The parameter `name` of a LittleBird made from `source`, a BERT or RoBERTa with `target` of its shape: the
/// projections and the norm of packing are those with which the same layer of `source` attends; latent k of n is what
/// the embeddings give for the mean token at position k P / n of the P that `source` has. Undefined for every other
/// parameter. No more latents than positions.
at::Tensor first_value_of_littlebird(const std::string& name, const at::Tensor& target, const EncoderModel& source);

}  // namespace weft::models
