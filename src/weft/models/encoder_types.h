// SPDX-License-Identifier: Apache-2.0
// The names of the published families, for whoever tells a model by its config.json alone. This header sees no
// LibTorch.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace weft::models {

/// `model_type` of each encoder family, in the order of encoder_families() (families/family.h).
inline constexpr std::array<std::string_view, 8> kEncoderTypes = {
    "bert", "roberta", "longformer", "big_bird", "nystromformer", "littlebird", "etc", "star_transformer"};

/// The same for encoder-decoders, in the order of encoder_decoders() (families/encoder_decoder_family.h).
inline constexpr std::array<std::string_view, 5> kEncoderDecoderTypes = {"marian", "bart", "pegasus", "bigbird_pegasus",
                                                                         "led"};

/// Names in a sentence: "marian, bart and led", with `last` before the last.
template <std::size_t kCount>
std::string types_in_words(const std::array<std::string_view, kCount>& types, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < kCount; ++i) {
    text += i == 0 ? "" : i + 1 == kCount ? last : ", ";
    text += types[i];
  }
  return text;
}

/// All encoders in a sentence: "bert, roberta, ... and star_transformer", with `last` (" and ", " or ", ", ") before
/// the last.
inline std::string encoder_types(std::string_view last) { return types_in_words(kEncoderTypes, last); }

}  // namespace weft::models
