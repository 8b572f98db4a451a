// SPDX-License-Identifier: Apache-2.0
// Embeddings, a row of transformer blocks and, where a model has one, a last norm: the part that causal models,
// encoders and both halves of an encoder-decoder share.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/blocks/block.h"
#include "weft/layers/decoding_state.h"
#include "weft/layers/embeddings.h"
#include "weft/layers/norm.h"
#include "weft/layers/rotary.h"
#include "weft/models/stack/stack_config.h"

namespace weft::models {

/// Token ids [B, N] on their way in.
struct StackInput {
  at::Tensor ids;                  ///< int64 [B, N], inside the table
  at::Tensor token_types = {};     ///< int64 [B, N]; undefined: all 0
  layers::TokenTable tokens = {};  ///< the table [vocab, hidden], where the stack shares that of another
  std::shared_ptr<const layers::CompanionInput> companions = {};  ///< that a call brings for its companions, or null
};

/// Hidden states on their way out.
struct StackOutput {
  at::Tensor hidden;           ///< [B, N, hidden], or twice as wide where streams are joined
  at::Tensor companions = {};  ///< [B, G, hidden], where they are a result (CompanionSource); undefined elsewhere
};

/// The module tree is embeddings, the blocks as layers.0 to layers.L-1 (or in the module that the config names), what a
/// source of companions registers, and norm; names in a checkpoint follow it.
class StackImpl : public torch::nn::Module {
 public:
  /// Storage only. Errors: kExpression for a mechanism string.
  StackImpl(const StackConfig& config, const at::TensorOptions& options);

  /// Position, padding, seed, state and source are those of `context`; its rotations and what it says of companions are
  /// set here. `recompute`: blocks keep their input alone and run again in the backward pass (Chen et al. 2016).
  /// Errors: kArgument where learned positions are fewer than the tokens, and those of a source of companions.
  StackOutput forward(const StackInput& input, layers::BlockContext& context, bool recompute);
  /// Of every layer, before the first token.
  layers::DecodingState initial_state() const;
  /// Where it computes: a call's ids are brought there.
  c10::Device device() const;
  /// Whether a layer's pattern asks for positions bound to `input`.
  bool needs_input() const;
  /// The field of the config that limits the length, for messages.
  std::string_view length_field() const noexcept { return length_field_; }
  const std::vector<layers::Block>& blocks() const noexcept { return blocks_; }
  /// What each layer computes, for people: the canonical expression of its attention.
  std::vector<std::string> descriptions() const;

  layers::Embeddings embeddings{nullptr};

 private:
  /// All blocks, in one stream or in two.
  layers::Rows run(layers::Rows rows, const layers::BlockContext& context, bool recompute) const;
  at::Tensor run_streams(const at::Tensor& hidden, const layers::BlockContext& context) const;

  double last_dropout_ = 0.0;
  std::int64_t learned_positions_ = 0;  // 0: none are learned
  bool scales_by_masks_ = false;        // EmbeddingsConfig::masked_id
  Residual residual_ = Residual::kOneStream;
  std::string_view length_field_;
  std::vector<layers::Block> blocks_;
  std::unique_ptr<layers::CompanionSource> companions_;  // null: there are none
  layers::Norm norm_{nullptr};
  layers::RotaryTables rotary_;
};
TORCH_MODULE(Stack);

/// Numbers in all parameters; a tensor that two modules share counts once.
std::int64_t parameter_count(const torch::nn::Module& model);

/// The seed of all dropout in a call that names none, from LibTorch's CPU generator, so that at::manual_seed governs
/// it.
DropoutSeed draw_seed();

}  // namespace weft::models
