// SPDX-License-Identifier: Apache-2.0
// What a transformer block is built from, and what goes through it on each call.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/attention/context.h"
#include "weft/attention/mechanisms/spec.h"
#include "weft/layers/decoding_state.h"
#include "weft/layers/memory/segment_memory.h"
#include "weft/layers/norm_config.h"
#include "weft/layers/rotary.h"

namespace weft::layers {

class BlockImpl;
class SelfAttentionImpl;
struct BlockConfig;
struct CrossWeights;
struct Source;

/// Builds the self-attention of a block, for a family whose layers do more than SelfAttention.
using SelfAttentionFactory =
    std::function<std::shared_ptr<SelfAttentionImpl>(const BlockConfig& config, const at::TensorOptions& options)>;

/// Builds a whole block, for a family whose layers are no transformer blocks.
using BlockFactory =
    std::function<std::shared_ptr<BlockImpl>(const BlockConfig& config, const at::TensorOptions& options)>;

/// How `rate` rows that leave a memory become one: a convolution of that kernel and stride, their mean, or the largest
/// number of each column (Rae et al. 2020, section 3.1).
struct CompressionConfig {
  std::string kind = "convolution";  ///< convolution, mean or max
  std::int64_t rate = 3;
};

/// One block. Validated by the model's config; a block itself trusts it.
struct BlockConfig {
  std::int64_t layer = 0;
  std::int64_t hidden_size = 256;
  std::int64_t heads = 4;
  std::int64_t key_value_heads = 4;
  std::int64_t head_size = 0;  ///< columns of a head; 0: hidden_size is shared among the heads
  std::int64_t intermediate_size = 1024;
  std::int64_t feed_forward_chunk = 0;  ///< rows that the feed-forward computes at once; 0: all
  std::int64_t maximum_length = 4096;
  BlockFactory make = {};                     ///< a family's own block; empty: the kind that `attention` asks for
  std::string attention = "full";             ///< mechanism string; empty: a block of its own kind has none
  SelfAttentionFactory self_attention = {};   ///< a family's own layer; empty: SelfAttention
  bool knows_positions = false;               ///< the scores of that layer do
  std::string cross_attention = {};           ///< mechanism string of queries against a Source; empty: there is none
  std::int64_t maximum_source_length = 4096;  ///< positions of a Source
  double score_factor = 1.0;                  ///< of all scores of attention, beyond 1 / sqrt(head_dim)
  bool qkv_bias = true;                       ///< query, key and value projections have a bias
  bool output_bias = true;                    ///< so has the projection of what attention gives
  bool feed_forward_bias = true;              ///< so have those of the feed-forward
  std::optional<bool> feed_forward_up_bias = {};  ///< whether the first of them has one, where it is otherwise
  std::string activation = "gelu";
  bool causal = false;
  double rope_theta = 0.0;      ///< base of the rotary frequencies; 0: positions are not rotary
  bool alibi = false;           ///< the distance of two positions lowers their score (Press et al. 2022)
  bool learned_slopes = false;  ///< each head learns by how much
  std::optional<attention::DistanceBuckets> distance_buckets = {};  ///< distances have learned scores
  bool norm_first = true;  ///< pre-norm (Xiong et al. 2020); otherwise post-norm (Vaswani et al. 2017)
  NormConfig norm = {};    ///< of every sublayer
  std::optional<NormConfig> attention_norm = {};        ///< of self-attention, where it is another
  double dropout = 0.0;                                 ///< on the output of each sublayer
  std::optional<double> attention_output_dropout = {};  ///< on that of self-attention, where it is another
  double inner_dropout = 0.0;                           ///< inside the feed-forward, on what its activation gives
  double attention_dropout = 0.0;                       ///< on the attention probabilities
  double position_dropout = 0.0;                        ///< on what scores know of distances
  std::filesystem::path directory = {};                 ///< that files named in `attention` lie below
  std::optional<CompressionConfig> compression = {};    ///< of rows that leave the memory; absent: they are forgotten

  /// Columns of a head; hidden_size is a multiple of heads unless they have a size of their own.
  std::int64_t head_dim() const noexcept { return head_size > 0 ? head_size : hidden_size / heads; }
};

/// What the self-attention mechanism of a block is built from.
attention::MechanismSite site_of(const BlockConfig& config);
/// The same for cross-attention: nothing in a source lies in the future, and no distance to it is known.
attention::MechanismSite cross_site_of(const BlockConfig& config);

/// One call, the same for every block of a model.
struct BlockContext {
  attention::AttentionContext attention;             ///< padding, `input`, position offset, seed of the call's dropout
  Rotations rotations;                               ///< of the positions of this call, for each base that blocks have
  DecodingState* state = nullptr;                    ///< of the tokens before this call, or null
  std::shared_ptr<const Source> source;              ///< of cross-attention; null where no block has any
  std::shared_ptr<const SegmentMemory> memory = {};  ///< rows before the text, M of them, where a segment goes on;
                                                     ///< `attention.query_offset` is M then, and keys begin with them
  std::shared_ptr<std::vector<at::Tensor>> inputs = {};  ///< takes each block's input [B, N, hidden], where somebody
                                                         ///< keeps a memory
  std::shared_ptr<CrossWeights> weights = {};  ///< one block's cross-attention fills it in, where somebody asks
};

}  // namespace weft::layers
