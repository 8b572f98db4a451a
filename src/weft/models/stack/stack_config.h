// SPDX-License-Identifier: Apache-2.0
// What the layers are told about a model. A config becomes one by the rules of its family.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "weft/layers/block_config.h"
#include "weft/layers/blocks/companion_source.h"
#include "weft/layers/embeddings.h"

namespace weft::models {

struct TransformerConfig;

/// How the residual connections of a stack run.
enum class Residual {
  kOneStream,      ///< x + f(x)
  kStreamsMean,    ///< two streams, which can be computed backwards (layers/replay/reversible.h), and end in their mean
  kStreamsJoined,  ///< the same, which end next to each other in 2 hidden columns
};

/// Embeddings, blocks and last norm of one stack.
struct StackConfig {
  layers::EmbeddingsConfig embeddings;
  layers::CompanionFactory companions = {};  ///< makes the first companions; empty: as block 0 says, mostly none
  std::vector<layers::BlockConfig> blocks;
  std::string_view blocks_module = "layers";  ///< the module that lists the blocks, `a.b` for `b` in `a`: a literal
  Residual residual = Residual::kOneStream;   ///< two streams are for pre-norm blocks without cross-attention
  std::optional<layers::NormConfig> last_norm = {};  ///< behind the last block, which ends in none in a pre-norm model
  double last_dropout = 0.0;                         ///< on what the last block or norm gives
  std::string_view length_field = "max_position_embeddings";  ///< of the config, for messages: a literal
  std::string_view attention_field = "attention";             ///< the same
  std::string_view no_positions = "position_embedding none";  ///< how a config has none, for messages: a literal
};

/// Errors: those of a mechanism string that does not parse or does not fit heads and layer, naming `where` and the
/// layer: before a weight is allocated.
void check_mechanisms(const StackConfig& config, std::string_view where);

// Of a config that has been validated.
StackConfig stack_config(const TransformerConfig& config);

}  // namespace weft::models
