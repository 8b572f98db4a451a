// SPDX-License-Identifier: Apache-2.0
// An encoder of one of the families of families/list.inc with one of its heads, equal to `transformers` at attended
// positions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/core/random.h"
#include "weft/formats/config_json.h"
#include "weft/models/encoder_config.h"

namespace weft::models {

class EncoderHeadImpl;
class EncoderPasses;
class StackImpl;
struct Blueprint;
struct EncoderCall;  // a call on its way, see encoder_model.cpp

/// Companions of the texts of a call that are tokens (global tokens, where they come from), in models that have some,
/// and which token of a text belongs to which. All int64; of multiple choice with [B, C] in place of [B]. Where
/// input_ids is undefined, all of it follows the family's rule from the ids of the text (EncoderRules::structure) and
/// nothing else may be given; elsewhere undefined is as if not there.
struct CompanionTokens {
  at::Tensor input_ids;       ///< [B, G]: layers::GlobalToken, or numbers of the caller's own
  at::Tensor mask;            ///< [B, G]; 0 marks padding
  at::Tensor token_type_ids;  ///< [B, G]; undefined: zeros
  at::Tensor sentence;        ///< [B, N], the number of a companion, or -1
  at::Tensor paragraph;       ///< [B, N], that of a second one, or -1
  at::Tensor linked;          ///< [B, N], that of a third one, or -1
  at::Tensor segment;         ///< [B, N]; a window ends where the segment does
  at::Tensor global_segment;  ///< [B, G]; between two of them distances have one label
  at::Tensor sees_all;        ///< [B, G]; nonzero: it sees all tokens despite hard edges
};

/// One call. All int64 [B, N]; [B, C, N] for multiple choice. Tensors of the CPU are brought to the model's device.
struct EncoderInput {
  at::Tensor input_ids;
  at::Tensor attention_mask;  ///< 0 marks padding (also bool); undefined: none. Longformer: 2 marks a global position
  at::Tensor token_type_ids;  ///< undefined: zeros
  at::Tensor global_attention_mask;  ///< longformer: nonzero marks a global position; undefined: the head's own default
  std::optional<DropoutSeed> seed = {};  ///< of all dropout in this call; from LibTorch's CPU generator when absent
  at::Tensor pair_places = {};  ///< [B, 2] ([B, C, 2]): in a row of two texts, the place behind the first and that
                                ///< where the second begins; -1 and -1 in a row of one text. For heads that treat the
                                ///< texts differently (longformer, big_bird); undefined: these look for separators
  CompanionTokens companions = {};  ///< where a model has some
  at::Tensor unmasked_ids = {};     ///< etc: the ids that its rule looks at, where some of input_ids are masked
};

/// What a loss is measured against; see EncoderModelImpl::loss.
struct EncoderLabels {
  at::Tensor labels;           ///< int64 [B, N] (masked-lm, tags; -100 is ignored), int64 [B] (classes, choices), float
                               ///< [B] or [B, labels] (regression, several labels)
  at::Tensor start_positions;  ///< int64 [B], question answering; outside [0, N) is ignored
  at::Tensor end_positions;    ///< int64 [B]
};

/// What a call gives, by the names of `transformers`; a tensor is undefined where the head does not give it.
struct EncoderOutput {
  at::Tensor last_hidden_state;  ///< [B, N, hidden]; twice as wide in a Reformer, whose streams end beside each other
  at::Tensor pooler_output;      ///< [B, hidden]
  at::Tensor logits;             ///< shape as Head says
  at::Tensor start_logits;       ///< [B, N]
  at::Tensor end_logits;         ///< [B, N]
  at::Tensor companion_hidden_state = {};  ///< [B, G, hidden], where a model has some
  /// The tensors that are there, in the order above.
  std::vector<std::pair<std::string, at::Tensor>> named() const;
};

/// The output with each of its tensors on `device`.
EncoderOutput placed(EncoderOutput output, c10::Device device);

/// How a model runs, where that is not the config's business.
struct EncoderOptions {
  std::string attention = {};  ///< mechanism string for all layers; empty: the config's, or the family's own
  /// Fields that the family alone has, in place of the config's: {"block_size": 2}.
  formats::Json fields = formats::Json::object();
  /// How a family draws the random blocks of its own pattern: released, hf-eval (Hugging Face's inference) or uniform.
  std::string random = "released";
  bool pad_like_hf = false;  ///< lay patterns out over the padded length that Hugging Face uses, as its numbers do;
                             ///< nystromformer: let rows of a batch change each other, as its numbers do
};

/// Last hidden states, whatever the head.
struct EncoderStates {
  at::Tensor hidden;      ///< [B, N, hidden]; multiple choice: B * C rows
  at::Tensor companions;  ///< [B, G, hidden]; undefined in models without
};

/// The rules of each option by itself. Errors: kArgument.
void check_options(const EncoderOptions& options);

/// Module tree and parameter names are Weft's own; checkpoint/encoder_names.h has those of Hugging Face.
class EncoderModelImpl : public torch::nn::Module {
 public:
  /// Builds with storage as `options` say (device, dtype, meta) and no values in it: for whoever loads or initialises
  /// them. Errors: kArgument for a config or option that does not fit; kExpression for a mechanism string.
  EncoderModelImpl(const EncoderConfig& config, Head head, const EncoderOptions& encoder,
                   const at::TensorOptions& options);
  ~EncoderModelImpl() override;

  /// Errors: kArgument for shapes and dtypes, ids outside of their tables, an input longer than the position table.
  EncoderOutput forward(const EncoderInput& input);
  /// The last hidden states alone [B, N, hidden] (multiple choice: B * C rows), whatever the head.
  at::Tensor hidden_states(const EncoderInput& input);
  /// The same, and those of the companions.
  EncoderStates states(const EncoderInput& input);
  /// Scores over the vocabulary for chosen hidden states [..., hidden] -> [..., vocab], float32 or wider: a masked-LM
  /// head where a mask stands, and nowhere else. Errors: kUnsupported without that head.
  at::Tensor vocabulary_logits(const at::Tensor& hidden);
  /// The loss that `transformers` computes for the head and problem_type, a scalar with its graph. Errors: kArgument
  /// for labels that do not fit; kUnsupported for the bare encoder.
  at::Tensor loss(const EncoderInput& input, const EncoderLabels& labels);

  const EncoderConfig& config() const noexcept { return config_; }
  /// For whoever fine-tunes: labels, problem_type and dropout may change, shapes may not.
  EncoderConfig& mutable_config() noexcept { return config_; }
  Head head() const noexcept { return head_; }
  const EncoderOptions& options() const noexcept { return options_; }
  /// What the last call computed, for the metadata of its result: "attention" (the canonical expression; "attention.3"
  /// where layers differ), "random" (big_bird's plan), "full_attention" (why it was not sparse), "padding" (tokens
  /// added). Before a call: what a long enough one would compute.
  std::vector<std::pair<std::string, std::string>> computed() const;
  /// Whether a layer's pattern asks for positions bound to `input`.
  bool needs_input() const;
  /// Numbers in all parameters; tied weights count once.
  std::int64_t parameter_count() const;
  /// Trade a second forward pass of every block for the memory of its activations (Chen et al. 2016).
  void set_gradient_checkpointing(bool enabled) noexcept { gradient_checkpointing_ = enabled; }

 private:
  /// Of a config and options that go together, and their plan.
  EncoderModelImpl(EncoderConfig config, Head head, EncoderOptions encoder, const Blueprint& plan,
                   const at::TensorOptions& options);
  EncoderCall run(const EncoderInput& input);

  EncoderConfig config_;
  Head head_;
  EncoderOptions options_;
  bool gradient_checkpointing_ = false;
  bool drops_inside_;  // a feed-forward has dropout inside
  std::shared_ptr<StackImpl> stack_;
  std::unique_ptr<EncoderPasses> passes_;
  std::shared_ptr<EncoderHeadImpl> top_;
};
TORCH_MODULE(EncoderModel);

/// First weights as published, see make_encoder(). For a part: the parameters whose names `only` begins.
void initialize(EncoderModelImpl& model, std::uint64_t seed, std::string_view only = {});

/// A model with first weights as published: matrices normal(0, initializer_range), biases 0, norms 1, the row of the
/// padding id 0, all drawn from `seed`. float32, evaluation mode.
EncoderModel make_encoder(const EncoderConfig& config, Head head, std::uint64_t seed);

}  // namespace weft::models
