// SPDX-License-Identifier: Apache-2.0
// The fields that BigBird-Pegasus has beyond those of every encoder-decoder.
#pragma once

#include <cstdint>
#include <string>

#include "weft/core/fields.h"

namespace weft::models {

struct BigBirdPegasusFields {
  std::string attention_type = "block_sparse";
  std::int64_t block_size = 64;
  std::int64_t num_random_blocks = 3;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = BigBirdPegasusFields;
    visit(Field{"attention_type", &C::attention_type, "sparse or full attention of the encoder"}.one_of(
        {"block_sparse", "original_full"}));
    visit(Field{"block_size", &C::block_size, "tokens in a block"}.range(1, 1 << 16));
    visit(
        Field{"num_random_blocks", &C::num_random_blocks, "random blocks that each block of queries attends to"}.range(
            0, 1 << 16));
  }
};

}  // namespace weft::models
