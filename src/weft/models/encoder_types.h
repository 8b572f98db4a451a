// SPDX-License-Identifier: Apache-2.0
// The names of the encoder families, for whoever tells a model by its config.json alone. This header sees no LibTorch.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace weft::models {

/// `model_type` of each family, in the order of encoder_families() (families/family.h).
inline constexpr std::array<std::string_view, 4> kEncoderTypes = {"bert", "roberta", "longformer", "big_bird"};

/// All of them in a sentence: "bert, roberta, longformer and big_bird", with `last` (" and ", " or ", ", ") before the
/// last.
inline std::string encoder_types(std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < kEncoderTypes.size(); ++i) {
    text += i == 0 ? "" : i + 1 == kEncoderTypes.size() ? last : ", ";
    text += kEncoderTypes[i];
  }
  return text;
}

}  // namespace weft::models
