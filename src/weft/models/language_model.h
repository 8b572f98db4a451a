// SPDX-License-Identifier: Apache-2.0
// Weft's own language model: a stack and a head over the vocabulary. A decoder predicts the next token, an encoder the
// masked ones; one class serves both, and no part of it asks which attention mechanism it has.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/core/random.h"
#include "weft/layers/decoding_state.h"
#include "weft/layers/linear_cross_entropy.h"
#include "weft/models/transformer_config.h"

namespace weft::layers {
struct BlockContext;
struct SegmentMemory;
}  // namespace weft::layers

namespace weft::models {

class LanguageModelHeadImpl;
struct CompressiveSizes;
class StackImpl;

/// One call: a batch of rows of token ids and what differs between them.
struct ModelInput {
  at::Tensor input_ids;       ///< int64 [B, N]
  at::Tensor attention_mask;  ///< bool or int64 [B, N], false or 0 marks padding; undefined when there is none
  std::vector<std::vector<std::int64_t>>
      global_positions;             ///< for each row of the batch, the positions bound to `input`
  std::optional<DropoutSeed> seed;  ///< of all dropout in this call; drawn from LibTorch's CPU generator when absent
  /// What the segment before left, of which this call is the next: it takes in its own rows, config().memory_length of
  /// them. Null where a text has no memory. Not with padding.
  std::shared_ptr<layers::SegmentMemory> memory = nullptr;
};

/// Nats of each label, and whether it has the highest score; 0 and false where it is -100.
using TokenScores = layers::LabelScores;

/// The module tree is embeddings, layers.0 to layers.L-1, norm (pre-norm only) and head; names in a checkpoint follow
/// it.
class LanguageModelImpl : public torch::nn::Module {
 public:
  /// Builds and initialises: weights normal(0, initializer_range), biases 0, norms 1. In a pre-norm model the
  /// projections that write to the residual stream are scaled by 1 / sqrt(2 layers) (Radford et al. 2019, section 2.3),
  /// to one of two streams by 1 / sqrt(layers).
  /// Draws come from LibTorch's default generator. Errors: kArgument for a bad config, kExpression for a bad mechanism
  /// string.
  explicit LanguageModelImpl(const TransformerConfig& config);
  /// Builds with storage as `options` say (device, dtype, meta) and no values in it: for whoever loads them.
  LanguageModelImpl(const TransformerConfig& config, const at::TensorOptions& options);

  /// [B, N, config().output_size()] after the last norm. Errors: kArgument for shapes, ids outside the vocabulary, too
  /// long for learned positions, an attention that names `input` without global_positions.
  at::Tensor hidden_states(const ModelInput& input);
  /// [B, N, vocab], all at once: for small inputs.
  at::Tensor logits(const ModelInput& input);
  /// Mean nats over the labels other than -100, a float32 scalar (float64 model: float64); 0 when there are none.
  /// labels int64 [B, N]: labels[b, i] is the target AT position i, the caller shifts. Logits exist for loss_chunk_size
  /// positions at once. `smoothing` as layers::linear_cross_entropy has it. In training mode a model with
  /// span_boundary_objective adds that objective's mean, and one that compresses by convolution the sum of its layers'
  /// attention-reconstruction losses.
  at::Tensor loss(const ModelInput& input, const at::Tensor& labels, double smoothing = 0.0);
  /// How each label fares, [B, N] each. No gradient; in chunks like loss().
  TokenScores token_scores(const ModelInput& input, const at::Tensor& labels);
  /// The same for a segment behind the tokens of `state`, which takes it in: what loss() computes behind a memory, with
  /// keys and values that are computed once. Errors: as decode().
  TokenScores token_scores(const at::Tensor& input_ids, const at::Tensor& labels, layers::DecodingState& state);
  /// What decode() remembers, before the first token: all tokens, or the last memory_length ones where that is not 0.
  layers::DecodingState initial_state() const;
  /// Runs only the new tokens int64 [B, n] behind those of `state`, takes them in, and returns the logits after the
  /// last one [B, vocab]. No gradient. A call that fails leaves the state as it was. Errors: kUnsupported for an
  /// encoder.
  at::Tensor decode(const at::Tensor& input_ids, layers::DecodingState& state);

  const TransformerConfig& config() const noexcept { return config_; }
  /// Numbers in all parameters; a tied head counts once.
  std::int64_t parameter_count() const;
  /// Remembers so many tokens before a segment from now on, whatever the model learned with. Errors: kArgument naming
  /// `where` for a model that cannot (check_memory).
  void set_memory_length(std::int64_t tokens, std::string_view where);
  /// The same for the rows of the compressed memory. Errors: kArgument naming `where` for a model without a memory or
  /// that has learned to compress nothing.
  void set_compressed_memory_length(std::int64_t rows, std::string_view where);
  /// Trade a second forward pass of every block for the memory of its activations (Chen et al. 2016).
  void set_gradient_checkpointing(bool enabled) noexcept { config_.gradient_checkpointing = enabled; }

 private:
  at::Tensor run(const at::Tensor& ids, layers::BlockContext& context);
  /// Hidden states, and what the compressors learn from; undefined where there is nothing.
  struct Computed {
    at::Tensor hidden;
    at::Tensor compression_loss;
  };
  Computed compute(const ModelInput& input);
  Computed run_behind(layers::SegmentMemory& memory, const at::Tensor& ids, layers::BlockContext& context);
  at::Tensor run_behind(layers::DecodingState& state, const at::Tensor& ids);
  at::Tensor run_piece(layers::DecodingState& state, const at::Tensor& ids, layers::BlockContext& context);
  CompressiveSizes sizes() const;

  TransformerConfig config_;
  std::shared_ptr<StackImpl> stack_;
  std::shared_ptr<LanguageModelHeadImpl> head_;
};
TORCH_MODULE(LanguageModel);

}  // namespace weft::models
