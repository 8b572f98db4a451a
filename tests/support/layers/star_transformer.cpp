// SPDX-License-Identifier: Apache-2.0
// Blocks and the relay that block 0 makes.
#include "support/layers/star_transformer.h"

#include <torch/nn/modules/container/modulelist.h>

namespace weft::testing {

StarTransformerImpl::StarTransformerImpl(const StarConfig& config, const at::TensorOptions& options) {
  const auto list = register_module("layers", torch::nn::ModuleList());
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    layers::BlockConfig block;
    block.make = layers::star_block();
    block.hidden_size = config.hidden_size;
    block.heads = config.heads;
    block.head_size = config.head_dim;
    block.norm.epsilon = 1e-6;
    layers_.push_back(layers::make_block(block, options));
    list->push_back(layers_.back());
  }
  relay_ = layers_.front()->companions()(*this, config.hidden_size, options);
}

StarNodes StarTransformerImpl::forward(const at::Tensor& embeddings, const at::Tensor& keep) {
  layers::BlockContext context;
  context.attention.key_keep = keep;
  layers::Rows rows = relay_->first(embeddings, nullptr, context);
  for (const layers::Block& layer : layers_) {
    rows = layer->forward(rows, context);
  }
  return {rows.text(), rows.companions().select(1, 0)};
}

}  // namespace weft::testing
