// SPDX-License-Identifier: Apache-2.0
// The fields that Longformer has beyond those of every encoder.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/fields.h"

namespace weft::models {

struct LongformerFields {
  std::vector<std::int64_t> attention_window = {512};

  /// Tokens over both sides.
  std::int64_t window_of(std::int64_t layer) const {
    return attention_window.size() == 1 ? attention_window.front()
                                        : attention_window.at(static_cast<std::size_t>(layer));
  }

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = LongformerFields;
    visit(Field{"attention_window", &C::attention_window,
                "tokens of the window, half of them on each side: one number, or one for each layer"});
  }
};

}  // namespace weft::models
