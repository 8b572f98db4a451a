// SPDX-License-Identifier: Apache-2.0
// The layers of a Star-Transformer one after the other, as a stack runs them.
#pragma once

#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/blocks/star_block.h"

namespace weft::testing {

struct StarConfig {
  std::int64_t hidden_size = 300;
  std::int64_t heads = 6;
  std::int64_t head_dim = 50;
  std::int64_t layers = 2;
};

/// Satellites [B, N, hidden] and the relay [B, hidden].
struct StarNodes {
  at::Tensor satellites;
  at::Tensor relay;
};

class StarTransformerImpl : public torch::nn::Module {
 public:
  StarTransformerImpl(const StarConfig& config, const at::TensorOptions& options);
  /// embeddings [B, N, hidden]; keep: bool [B, N], false at padding, or undefined.
  StarNodes forward(const at::Tensor& embeddings, const at::Tensor& keep = {});

 private:
  std::vector<layers::Block> layers_;
  std::unique_ptr<layers::CompanionSource> relay_;
};
TORCH_MODULE(StarTransformer);

}  // namespace weft::testing
