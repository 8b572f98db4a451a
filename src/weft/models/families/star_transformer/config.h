// SPDX-License-Identifier: Apache-2.0
// The fields that Star-Transformer has beyond those of every encoder.
#pragma once

#include <cstdint>

#include "weft/core/fields.h"

namespace weft::models {

struct StarFields {
  std::int64_t attention_head_size = 32;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = StarFields;
    visit(Field{"attention_head_size", &C::attention_head_size, "columns of a head; the heads need not fill the width"}
              .range(1, 1 << 16));
  }
};

}  // namespace weft::models
