// SPDX-License-Identifier: Apache-2.0
// A block of the Compressive Transformer (Rae et al. 2020): rows that leave its memory become fewer, and stay.
#pragma once

#include "weft/layers/blocks/plain_block.h"
#include "weft/layers/memory/compressor.h"

namespace weft::layers {

/// The transformer block, and a compressor of rows that are too old for its memory (memory/compressor.h).
class CompressiveBlockImpl : public PlainBlockImpl {
 public:
  CompressiveBlockImpl(const BlockConfig& config, SelfAttention self_attention, const at::TensorOptions& options);

  at::Tensor compressed(const at::Tensor& old) override { return compressor(old); }
  at::Tensor compression_loss(const at::Tensor& x, const at::Tensor& old, const at::Tensor& fresh) override;

  Compressor compressor{nullptr};
};

}  // namespace weft::layers
