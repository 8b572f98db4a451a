// SPDX-License-Identifier: Apache-2.0
// Embeddings, a row of transformer blocks and, where a model has one, a last norm: the part that causal models,
// encoders and both halves of an encoder-decoder share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/decoding_state.h"
#include "weft/layers/embeddings.h"
#include "weft/layers/layer_norm.h"
#include "weft/layers/rotary.h"
#include "weft/layers/star/star_transformer.h"
#include "weft/layers/transformer_block.h"
#include "weft/models/stack/stack_config.h"

namespace weft::models {

/// Token ids [B, N] on their way in.
struct StackInput {
  at::Tensor ids;                ///< int64 [B, N], inside the table
  at::Tensor token_types = {};   ///< int64 [B, N]; undefined: all 0
  at::Tensor tokens = {};        ///< the table [vocab, hidden], where the stack shares that of another
  at::Tensor beside_ids = {};    ///< int64 [B, G], inside the table of global tokens, where the stack has one
  at::Tensor beside_types = {};  ///< int64 [B, G]; undefined: all 0
  at::Tensor keep = {};  ///< bool [B, N], false at padding, of layers with a relay; others are told by the context
};

/// Hidden states on their way out.
struct StackOutput {
  at::Tensor hidden;       ///< [B, N, hidden], or twice as wide where streams are joined
  at::Tensor beside = {};  ///< [B, G, hidden] of global tokens, or of the relay; undefined where there are none
};

/// The module tree is embeddings, layers.0 to layers.L-1 (with a relay star.layers.0 and so on) and norm; names in a
/// checkpoint follow it.
class StackImpl : public torch::nn::Module {
 public:
  /// Storage only. Errors: kExpression for a mechanism string.
  StackImpl(const StackConfig& config, const at::TensorOptions& options);

  /// Position, padding, seed, state, source and the structure of global tokens are those of `context`; its rotation and
  /// the number of global tokens are set here. `recompute`: blocks keep their input alone and run again in the backward
  /// pass (Chen et al. 2016). Errors: kArgument where learned positions are fewer than the tokens.
  StackOutput forward(const StackInput& input, layers::BlockContext& context, bool recompute);
  /// Of every layer, before the first token.
  layers::DecodingState initial_state() const;
  /// Whether a layer's pattern asks for positions bound to `input`.
  bool needs_input() const;
  /// The field of the config that limits the length, for messages.
  std::string_view length_field() const noexcept { return length_field_; }
  const std::vector<layers::TransformerBlock>& blocks() const noexcept { return layers_; }
  /// What each layer computes, for people: the canonical expression of its attention.
  std::vector<std::string> descriptions() const;

  layers::Embeddings embeddings{nullptr};
  layers::Embeddings globals{nullptr};  ///< of tokens beside the text, where the model has any
  at::Tensor latents;  ///< [latents, hidden], the first ones of every text, where the mechanisms have any

 private:
  at::Tensor run_block(layers::TransformerBlock block, const at::Tensor& hidden, const layers::BlockContext& context,
                       bool recompute) const;
  /// All blocks: [B, N, hidden] -> [B, N, hidden], and rows beside them, where there are any, the same way.
  StackOutput run_layers(const StackOutput& first, const layers::BlockContext& context, bool recompute) const;
  at::Tensor run_plain(at::Tensor hidden, const layers::BlockContext& context, bool recompute) const;
  at::Tensor run_reversible(const at::Tensor& hidden, const layers::BlockContext& context) const;

  double last_dropout_ = 0.0;
  std::int64_t learned_positions_ = 0;  // 0: none are learned
  bool reversible_ = false;
  bool joins_streams_ = false;
  std::string_view length_field_;
  std::vector<layers::TransformerBlock> layers_;
  layers::StarTransformer star_{nullptr};
  layers::LayerNorm norm_{nullptr};
  std::optional<layers::RotaryTable> rotary_;
};
TORCH_MODULE(Stack);

/// Numbers in all parameters; a tensor that two modules share counts once.
std::int64_t parameter_count(const torch::nn::Module& model);

/// The seed of all dropout in a call that names none, from LibTorch's CPU generator, so that at::manual_seed governs
/// it.
std::uint64_t draw_seed();

}  // namespace weft::models
