// SPDX-License-Identifier: Apache-2.0
// What is said of a model that was made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/models/encoder_decoder.h"
#include "weft/models/encoder_model.h"
#include "weft/models/language_model.h"

namespace weft::checkpoint {

struct NewModel {
  std::string family;
  std::string head;  ///< "encoder-decoder" and "decoder" are those without one
  std::int64_t parameters = 0;
  std::int64_t positions = 0;  ///< tokens of the longest text, of a source, or of a segment
  bool int8 = false;           ///< its weights are int8
};

NewModel new_model(const models::EncoderModel& model);
NewModel new_model(const models::EncoderDecoder& model);
/// A decoder in the form of `family`.
NewModel new_model(const models::LanguageModel& model, std::string_view family);

}  // namespace weft::checkpoint
