// SPDX-License-Identifier: Apache-2.0
// What a compressor learns from.
#include "weft/layers/blocks/compressive_block.h"

#include <utility>

namespace weft::layers {

CompressiveBlockImpl::CompressiveBlockImpl(const BlockConfig& config, SelfAttention self_attention,
                                           const at::TensorOptions& options)
    : PlainBlockImpl(config, std::move(self_attention), options),
      compressor(register_module("compressor", Compressor(config.compression.value(), config.hidden_size, options))) {}

at::Tensor CompressiveBlockImpl::compression_loss(const at::Tensor& x, const at::Tensor& old, const at::Tensor& fresh) {
  if (!norm_first()) {
    return reconstruction_loss(*attention, x, old, fresh);
  }
  // The norm learns from the task alone, as do the projections behind it.
  const auto fixed = [&](const at::Tensor& rows) { return attention_norm->with_fixed_parameters(rows); };
  return reconstruction_loss(*attention, fixed(x), fixed(old), fixed(fresh));
}

}  // namespace weft::layers
