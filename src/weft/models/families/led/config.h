// SPDX-License-Identifier: Apache-2.0
// The fields that LED has beyond those of every encoder-decoder.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/fields.h"

namespace weft::models {

struct LedFields {
  std::vector<std::int64_t> attention_window = {512};

  /// Of a layer of the encoder, in tokens over both sides.
  std::int64_t window_of(std::int64_t layer) const {
    return attention_window.size() == 1 ? attention_window.front()
                                        : attention_window.at(static_cast<std::size_t>(layer));
  }

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(Field{"attention_window", &LedFields::attention_window,
                "tokens of the encoder's window, half of them on each side: one number, or one for each layer"});
  }
};

}  // namespace weft::models
