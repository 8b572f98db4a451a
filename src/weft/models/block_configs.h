// SPDX-License-Identifier: Apache-2.0
// What the layers room is told about a model: the parts of a TransformerConfig that each of its layers needs.
#pragma once

#include "weft/layers/block_config.h"
#include "weft/layers/embeddings.h"
#include "weft/models/transformer_config.h"

namespace weft::models {

/// What layer number `layer` is built from, its own mechanism string included. `config` has been validated.
layers::BlockConfig block_config(const TransformerConfig& config, std::int64_t layer);
/// What the embeddings are built from: rotary models add no positions there, post-norm models a norm.
layers::EmbeddingsConfig embeddings_config(const TransformerConfig& config);

}  // namespace weft::models
