// SPDX-License-Identifier: Apache-2.0
// One block of a model, whatever is inside: the only thing that a stack knows of its layers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "weft/attention/state/attention_state.h"
#include "weft/layers/attention/cross_attention.h"
#include "weft/layers/block_config.h"
#include "weft/layers/blocks/companion_source.h"
#include "weft/layers/blocks/rows.h"
#include "weft/layers/replay/reversible.h"

namespace weft::layers {

/// Rows in, rows out. A kind of block derives from it and overrides what it has; what it has not is an error
/// (kUnsupported), or nothing.
class BlockImpl : public torch::nn::Module {
 public:
  /// Text [B, N, hidden] and companions [B, G, hidden] -> the same shapes. The residual stream keeps the parameters'
  /// dtype under autocast.
  virtual Rows forward(const Rows& x, const BlockContext& context) = 0;
  /// forward(), of which x alone is kept for the backward pass, where the block runs again (Chen et al. 2016).
  virtual Rows recomputed(const Rows& x, const BlockContext& context);
  /// Its two functions for residual connections of two streams.
  virtual ReversibleLayer reversible(const BlockContext& context);
  /// What the block computes, for people: the canonical expression of its attention.
  virtual std::string description() const = 0;

  /// Takes what the layers of a model share from block 0.
  virtual void share(BlockImpl& first);
  /// What it took: leaves of this block that another has registered.
  virtual std::vector<at::Tensor> shared_parameters() const;
  /// Whether a pattern asks for positions bound to `input`.
  virtual bool needs_input() const;
  /// Makes the first companions, asked of block 0 where the config of a stack names no source; empty: there are none.
  virtual CompanionFactory companions() const;

  /// Of its attention, before the first token.
  virtual std::unique_ptr<attention::AttentionState> initial_state() const;
  /// Takes keys and values of rows [B, M, hidden] of a memory, earlier inputs of this block, into `state`.
  virtual void remember(const at::Tensor& rows, attention::AttentionState& state);
  /// Keys and values of hidden states [B, S, hidden] of a source, for its cross-attention.
  virtual SourceHeads source_heads(const at::Tensor& hidden);

  /// Rows [B, n, hidden] that leave a memory as fewer ones.
  virtual at::Tensor compressed(const at::Tensor& old);
  /// How much less `x` [B, N, hidden], inputs of this block, can read from `fresh` than from `old` [B, n, hidden],
  /// which became them (reconstruction_loss()).
  virtual at::Tensor compression_loss(const at::Tensor& x, const at::Tensor& old, const at::Tensor& fresh);
};
using Block = std::shared_ptr<BlockImpl>;

/// The block of a config: that of `config.make`, or the kind that its attention and settings ask for. Storage only.
/// Errors: those of make_attention().
Block make_block(const BlockConfig& config, const at::TensorOptions& options);

}  // namespace weft::layers
