// SPDX-License-Identifier: Apache-2.0
// Name maps between Weft's encoder parameters and Hugging Face tensors: tables, one for what all families share and one
// for the heads of each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/models/encoder_config.h"

namespace weft::checkpoint {

/// Where one of Weft's parameters lies in a Hugging Face file.
struct HuggingFaceNames {
  /// One name, or the three (query, key, value) whose tensors lie under each other in Weft's.
  std::vector<std::string> parts;
  /// Further names under which a lone part may stand; the first that the file has is read.
  std::vector<std::string> alternatives;
  /// Names under which the same values are written once more, for transformers to find them all.
  std::vector<std::string> copies;
};

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
