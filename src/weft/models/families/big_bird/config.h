// SPDX-License-Identifier: Apache-2.0
// The fields that BigBird has beyond those of every encoder.
#pragma once

#include <cstdint>
#include <string>

#include "weft/core/fields.h"

namespace weft::models {

struct BigBirdFields {
  std::string attention_type = "block_sparse";
  std::int64_t block_size = 64;
  std::int64_t num_random_blocks = 3;
  bool use_bias = true;
  bool rescale_embeddings = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = BigBirdFields;
    visit(Field{"attention_type", &C::attention_type, "sparse or full attention"}.one_of(
        {"block_sparse", "original_full"}));
    visit(Field{"block_size", &C::block_size, "tokens in a block"}.range(1, 1 << 16));
    visit(
        Field{"num_random_blocks", &C::num_random_blocks, "random blocks that each block of queries attends to"}.range(
            0, 1 << 16));
    visit(Field{"use_bias", &C::use_bias, "query, key and value projections have a bias"});
    visit(Field{"rescale_embeddings", &C::rescale_embeddings,
                "multiply token embeddings by the square root of the width"});
  }
};

}  // namespace weft::models
