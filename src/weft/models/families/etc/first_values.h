// SPDX-License-Identifier: Apache-2.0
// What the parameters begin with that an ETC (Ainslie et al. 2020) has and the model that it is made from has not.
#pragma once

#include <string>

#include "weft/models/encoder_model.h"

namespace weft::models {

/// The parameter `name` of an ETC made from `source`, a BERT or RoBERTa: output projection, norms and token types of
/// global tokens are those of the text, the tables of labels are zeros, so that a pair adds nothing yet, and a global
/// token is the mean of all tokens and what `target` was drawn as. Undefined for every other parameter.
at::Tensor first_value_of_etc(const std::string& name, const at::Tensor& target, const EncoderModel& source);

}  // namespace weft::models
