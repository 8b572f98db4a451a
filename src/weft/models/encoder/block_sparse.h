// SPDX-License-Identifier: Apache-2.0
// BigBird's self-attention (Zaheer et al. 2020): blocks that are global, near or drawn at random, and full attention
// where an input is too short for them. Encoders of BigBird and BigBird-Pegasus have it.
#pragma once

#include <cstdint>
#include <string>

#include "weft/layers/block_config.h"
#include "weft/models/encoder_model.h"

namespace weft::models {

struct BlockSparse {
  bool sparse = true;  ///< otherwise full attention
  std::int64_t block = 64;
  std::int64_t random = 3;
  std::string plan = "released";
  bool zeroes_padding = false;  ///< queries that are padding give zeros where the pattern is sparse

  /// The rule of `transformers`, for each row on its own: the tokens of two global blocks, three of the window and
  /// twice the random ones. -1 without a sparse pattern.
  std::int64_t full_until() const { return sparse ? (5 + 2 * random) * block : -1; }
};

/// `own` has the attention_type (block_sparse or original_full), the block_size and the num_random_blocks of a config.
template <typename Fields>
BlockSparse block_sparse(const Fields& own, const EncoderOptions& options) {
  return {own.attention_type == "block_sparse", own.block_size, own.num_random_blocks, options.random,
          options.pad_like_hf};
}
/// The pattern of a layer.
std::string block_sparse_pattern(const BlockSparse& attention, std::int64_t layer);
/// Any pattern, with full attention in a call whose rows all have at most `full_until` tokens.
layers::SelfAttentionFactory short_full_layer(std::int64_t full_until, bool zeroes_padding = false);
/// What builds the self-attention of a layer; empty for full attention.
layers::SelfAttentionFactory block_sparse_layer(const BlockSparse& attention);

}  // namespace weft::models
