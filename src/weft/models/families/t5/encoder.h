// SPDX-License-Identifier: Apache-2.0
// The encoder of T5 and of the families that descend from it without a decoder: T5EncoderModel, as embedders of texts
// have it.
#pragma once

#include <string_view>

#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/pair_rules.h"

namespace weft::models {

/// The rules of a family whose encoder-decoders have those of `pair`: the same settings, layers and names. `class_name`
/// is that of the encoder, "T5Encoder" of T5EncoderModel.
EncoderRules encoder_of_pair(const PairRules& pair, std::string_view class_name);

}  // namespace weft::models
