// SPDX-License-Identifier: Apache-2.0
// The fields that LittleBird has beyond those of every encoder.
#pragma once

#include <cstdint>

#include "weft/core/fields.h"

namespace weft::models {

struct LittleBirdFields {
  std::int64_t block_size = 64;
  std::int64_t num_latents = 64;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = LittleBirdFields;
    visit(Field{"block_size", &C::block_size, "tokens in a block"}.range(1, 1 << 16));
    visit(Field{"num_latents", &C::num_latents, "rows that each layer packs the text into"}.range(1, 4096));
  }
};

}  // namespace weft::models
