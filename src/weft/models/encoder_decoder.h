// SPDX-License-Identifier: Apache-2.0
// Sequence to sequence (Vaswani et al. 2017): an encoder reads the source, and a decoder predicts the target, token by
// token, from what it has written and, by cross-attention, from the source. Both are stacks; a published model is
// settings of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/decoding_state.h"
#include "weft/layers/inference/int8_weight.h"
#include "weft/models/encoder_decoder_config.h"
#include "weft/models/encoder_model.h"

namespace weft::layers {
struct BlockContext;
struct CrossWeights;
struct Source;
}  // namespace weft::layers

namespace weft::models {

class EncoderPasses;
struct StepForms;
class StackImpl;

/// A batch of sources.
struct SourceText {
  at::Tensor input_ids;                   ///< int64 [B, S]
  at::Tensor attention_mask = {};         ///< bool or int64 [B, S], 0 marks padding; undefined: none
  at::Tensor global_attention_mask = {};  ///< [B, S], nonzero: a position that `input` stands for in the encoder's
                                          ///< patterns; undefined: the first token of each row
};

/// One call.
struct SequencePair {
  at::Tensor input_ids;                    ///< int64 [B, S], the source
  at::Tensor decoder_input_ids;            ///< int64 [B, N], the target, shifted right by the caller
  at::Tensor attention_mask = {};          ///< of the source, see SourceText
  at::Tensor decoder_attention_mask = {};  ///< the same for the target
  std::optional<DropoutSeed> seed =
      {};  ///< of all dropout in this call; drawn from LibTorch's CPU generator when absent
  at::Tensor global_attention_mask = {};  ///< of the source, see SourceText
  /// Where the target looks in the source: one decoder layer's cross-attention, filled in by the call; null: not asked.
  std::shared_ptr<layers::CrossWeights> weights = {};

  SourceText source() const { return {input_ids, attention_mask, global_attention_mask}; }
};

/// The module tree is encoder and decoder, each as StackImpl has it (the decoder without a token table where that is
/// shared), and head; checkpoint/encoder_decoder/ has the names of Hugging Face.
class EncoderDecoderImpl : public torch::nn::Module, public layers::KeepsInt8 {
 public:
  /// Builds and initialises, as LanguageModelImpl does.
  explicit EncoderDecoderImpl(const EncoderDecoderConfig& config);
  /// Storage only. `encoder` changes how the encoder attends. Errors: kArgument for a config or option that does not
  /// fit; kExpression for a mechanism string.
  EncoderDecoderImpl(const EncoderDecoderConfig& config, const at::TensorOptions& options,
                     const EncoderOptions& encoder = {});
  ~EncoderDecoderImpl() override;

  /// The decoder's last hidden states [B, N, d_model]. Errors: kArgument for shapes, ids outside the vocabulary, texts
  /// longer than learned positions.
  at::Tensor hidden_states(const SequencePair& pair);
  /// [B, N, vocab], all at once: for small inputs.
  at::Tensor logits(const SequencePair& pair);
  /// The same, and the encoder's last hidden states [B, S, d_model].
  std::pair<at::Tensor, at::Tensor> logits_and_states(const SequencePair& pair);
  /// Mean nats over the labels other than -100; labels int64 [B, N] as LanguageModelImpl::loss has them.
  at::Tensor loss(const SequencePair& pair, const at::Tensor& labels, double smoothing = 0.0);

  /// The encoder's last hidden states [B, S, d_model].
  at::Tensor encoder_states(const SourceText& source);
  /// Reads the source once for all tokens that decode() will write: the keys and values of every layer. No gradient.
  /// Errors: as hidden_states(); kArgument in training mode, whose dropout needs a seed for each call.
  std::shared_ptr<const layers::Source> encode(const SourceText& source);
  std::shared_ptr<const layers::Source> encode(const at::Tensor& input_ids, const at::Tensor& attention_mask = {}) {
    return encode(SourceText{input_ids, attention_mask});
  }
  /// What the decoder remembers before the first token.
  layers::DecodingState initial_state() const;
  /// Runs only the new tokens int64 [B, n] behind those of `state`, which takes them in, and returns the logits after
  /// the last one [B, vocab]. No gradient. Where a search reorders `state`, Source::reordered() gives the source of the
  /// same rows. Errors: as encode().
  at::Tensor decode(const at::Tensor& ids, layers::DecodingState& state,
                    const std::shared_ptr<const layers::Source>& source);
  /// As layers::LinearImpl::train().
  void train(bool on = true) override;

  /// A number for each id of the target that is added to its logit and is not trained, or undefined: none.
  const at::Tensor& head_bias() const noexcept { return head_bias_; }
  /// bias [target vocabulary], float. Errors: kArgument for another shape.
  void set_head_bias(const at::Tensor& bias);

  const EncoderDecoderConfig& config() const noexcept { return config_; }
  /// For whoever trains on: dropout and loss_chunk_size may change, shapes may not.
  EncoderDecoderConfig& mutable_config() noexcept { return config_; }
  const EncoderOptions& options() const noexcept { return options_; }
  /// What the encoder computed in the last call, see EncoderModelImpl::computed(); also "global" (where the first token
  /// of each source was global by default).
  std::vector<std::pair<std::string, std::string>> computed() const;
  /// Numbers in all parameters; what is shared or tied counts once.
  std::int64_t parameter_count() const;

  std::string int8_parameter() const override { return "head"; }
  at::Tensor floating() const override { return head_; }
  std::shared_ptr<const layers::Int8Weight> kept() const override { return int8_head_; }
  void keep_int8(std::shared_ptr<const layers::Int8Weight> weight) override;

 private:
  std::pair<at::Tensor, at::Tensor> run(const SequencePair& pair);
  layers::Source read_source(const SourceText& text, const DropoutSeed& seed);
  at::Tensor run_decoder(const at::Tensor& ids, layers::BlockContext& context);
  layers::TokenTable target_tokens() const;
  layers::TokenTable head_weight() const;
  /// Hidden states as the product with the vocabulary takes them.
  at::Tensor scaled(const at::Tensor& hidden) const;
  at::Tensor scores(const at::Tensor& hidden) const;
  at::Tensor step_scores(const at::Tensor& hidden) const;

  EncoderDecoderConfig config_;
  EncoderOptions options_;
  std::shared_ptr<StackImpl> encoder_;
  std::shared_ptr<StackImpl> decoder_;
  std::unique_ptr<EncoderPasses> passes_;
  std::unique_ptr<StepForms> head_forms_;  // for decode()
  at::Tensor head_;                        // [target vocab, d_model] unless tied or int8
  std::shared_ptr<const layers::Int8Weight> int8_head_;
  at::Tensor head_bias_;      // [target vocab], a buffer
  double score_scale_ = 1.0;  // PairBlueprint::score_scale
  bool first_was_global_ = false;
};
TORCH_MODULE(EncoderDecoder);

}  // namespace weft::models
