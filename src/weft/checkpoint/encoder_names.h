// SPDX-License-Identifier: Apache-2.0
// From Weft's encoder parameters to Hugging Face tensors, by the names that a family's file lists.
#pragma once

#include <string_view>

#include "weft/checkpoint/weights.h"
#include "weft/models/encoder_config.h"

namespace weft::checkpoint {

/// The names for a parameter of models::EncoderModelImpl. `prefixed`: the encoder's tensors begin with the family's
/// prefix ("bert."), as beside a head. A name that the tables lack is a programming error.
HuggingFaceNames hugging_face_names(const models::EncoderConfig& config, models::Head head, std::string_view parameter,
                                    bool prefixed);

/// Whether transformers passes over a tensor of this name without loss: buffers, tied copies, the next-sentence head,
/// a pooler that the head does not read.
bool is_passed_over(const models::EncoderConfig& config, std::string_view name);

/// Whether the tensor belongs to some head of the family, and not to the encoder.
bool is_of_a_head(const models::EncoderConfig& config, std::string_view name);

}  // namespace weft::checkpoint
