// SPDX-License-Identifier: Apache-2.0
// What a transformer block is built from, and what goes through it on each call.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "weft/attention/mechanism.h"
#include "weft/layers/decoding_cache.h"
#include "weft/layers/rotary.h"

namespace weft::layers {

/// One block. Validated by the model's config; a block itself trusts it.
struct BlockConfig {
  std::int64_t layer = 0;
  std::int64_t hidden_size = 256;
  std::int64_t heads = 4;
  std::int64_t key_value_heads = 4;
  std::int64_t intermediate_size = 1024;
  std::int64_t maximum_length = 4096;
  std::string attention = "full";    ///< mechanism string
  std::string short_attention = {};  ///< mechanism string for inputs too short for `attention`; empty: none is
  bool qkv_bias = true;              ///< query, key and value projections have a bias
  bool global_projection = false;    ///< positions bound to `input` have projections of their own (Longformer)
  std::string activation = "gelu";
  bool causal = false;
  bool alibi = false;      ///< the distance of two positions takes from their score (Press et al. 2022)
  bool norm_first = true;  ///< pre-norm (Xiong et al. 2020); otherwise post-norm (Vaswani et al. 2017)
  double layer_norm_eps = 1e-5;
  double dropout = 0.0;                  ///< on the output of each sublayer
  double attention_dropout = 0.0;        ///< on the attention probabilities
  std::filesystem::path directory = {};  ///< that files named in `attention` lie below

  /// Columns of a head; hidden_size is a multiple of heads.
  std::int64_t head_dim() const noexcept { return hidden_size / heads; }
};

/// What the attention mechanism of a block is built from.
attention::MechanismSite site_of(const BlockConfig& config);

/// One call, the same for every block of a model.
struct BlockContext {
  attention::AttentionContext attention;  ///< padding, `input`, position offset, seed of the call's dropout
  Rotation rotation;                      ///< of the positions of this call; undefined without rotary positions
  DecodingCache* cache = nullptr;         ///< keys and values before this call, or null
  bool short_input = false;               ///< take BlockConfig::short_attention
  at::Tensor query_keep;                  ///< bool [B, N]: attention gives zeros where it is false; undefined: nowhere
};

}  // namespace weft::layers
