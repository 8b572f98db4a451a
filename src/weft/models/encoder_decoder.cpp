// SPDX-License-Identifier: Apache-2.0
// The two stacks of an EncoderDecoderConfig, and a pair of texts through them.
#include "weft/models/encoder_decoder.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <cmath>

#include "weft/attention/devices/placed.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/layers/attention/cross_attention.h"
#include "weft/layers/dropout.h"
#include "weft/layers/inference/packing_for_steps.h"
#include "weft/layers/replay/kept_operands.h"
#include "weft/models/encoder/passes.h"
#include "weft/models/families/pair_rules.h"
#include "weft/models/families/replaced_attention.h"
#include "weft/models/heads/vocabulary_head.h"
#include "weft/models/stack/batch_rows.h"
#include "weft/models/stack/initialize.h"
#include "weft/models/stack/stack.h"

namespace weft::models {
namespace {

constexpr std::int64_t kEncoderSeed = -3;  // of dropout_seed: -1 and -2 are embeddings and heads

void check_tokens(const at::Tensor& ids, std::int64_t vocabulary, const char* name, const char* table) {
  require(ids.defined() && ids.dim() == 2 && ids.scalar_type() == at::kLong && ids.numel() > 0, name,
          " must be int64 [batch, length] with at least one token");
  check_range(ids, vocabulary, name, table);
}

void check_target_tokens(const EncoderDecoderConfig& config, const at::Tensor& ids) {
  check_tokens(ids, config.target_vocab_size(), "decoder_input_ids",
               config.decoder_vocab_size > 0 ? "decoder_vocab_size" : "vocab_size");
}

EncoderDecoderConfig checked_pair(const EncoderDecoderConfig& config, const EncoderOptions& options) {
  validate(config, "model config");
  check_options(options);
  check_random(options, pair_rules(config).has_field("num_random_blocks"), pairs_with("num_random_blocks"),
               config.model_type);
  check_replaced(options, config.encoder_attention);
  check_mechanisms(blueprint(config, options).encoder, "model config");  // before any tensor
  return config;
}

/// Of the weights that one token is multiplied by: keys and values of the source are there already.
std::int64_t numbers_of_a_token(const EncoderDecoderConfig& config) {
  return config.d_model *
         (config.decoder_layers * (6 * config.d_model + 2 * config.decoder_ffn_dim) + config.target_vocab_size());
}

/// The first token of each row, which `input` stands for where a call names nothing: summaries need it (Beltagy et al.
/// 2020, section 6), and `transformers` leaves it to its callers. Padding may stand before it.
at::Tensor first_tokens(const EncoderBatch& batch) {
  if (batch.keep.defined()) {
    return batch.keep.cumsum(1).eq(1);  // padding behind the first token counts none, and is dropped later
  }
  at::Tensor first = at::zeros_like(batch.ids, at::kBool);
  first.select(1, 0).fill_(true);
  return first;
}

/// Sources made ready: rows of token ids, padding and global positions.
EncoderBatch source_batch(const EncoderDecoderConfig& config, const SourceText& text, const StackImpl& encoder) {
  const c10::Device device = encoder.device();
  check_tokens(text.input_ids, config.vocab_size, "input_ids", "vocab_size");
  const auto mask = [&](const at::Tensor& tensor, const char* name) {
    if (!tensor.defined()) {
      return tensor;
    }
    require(tensor.sizes() == text.input_ids.sizes(), name, " has shape ", tensor.sizes(), ", input_ids ",
            text.input_ids.sizes());
    require(!tensor.is_floating_point() && !tensor.is_complex(), name, " must be bool or integer, found ",
            tensor.scalar_type());
    return tensor.to(device).ne(0);
  };
  EncoderBatch batch;
  batch.ids = attention::placed(text.input_ids, device);
  batch.keep = mask(text.attention_mask, "attention_mask");
  batch.globals = mask(text.global_attention_mask, "global_attention_mask");
  require(!batch.globals.defined() || encoder.needs_input(),
          "global_attention_mask names positions for `input`, which no attention of the encoder names");
  if (!batch.globals.defined() && encoder.needs_input()) {
    batch.globals = first_tokens(batch);
  }
  if (batch.globals.defined() && batch.keep.defined()) {
    batch.globals = batch.globals.logical_and(batch.keep);
  }
  return batch;
}

}  // namespace

EncoderDecoderImpl::EncoderDecoderImpl(const EncoderDecoderConfig& config)
    : EncoderDecoderImpl(config, at::TensorOptions(at::kFloat)) {
  // Each stack by itself: the decoder has three sublayers in a layer.
  const auto initializer = [&](double residual_layers) {
    return Initializer{.range = config.init_std,
                       .residual_divisor = config.norm_position == "pre" ? std::sqrt(residual_layers) : 1.0,
                       .padding_id = config.pad_token_id};
  };
  initialize(*this, initializer(2.0 * static_cast<double>(config.encoder_layers)), "encoder.");
  initialize(*this, initializer(3.0 * static_cast<double>(config.decoder_layers)), "decoder.");
  initialize(*this, initializer(1.0), "head");
}

EncoderDecoderImpl::EncoderDecoderImpl(const EncoderDecoderConfig& config, const at::TensorOptions& options,
                                       const EncoderOptions& encoder)
    : config_(checked_pair(config, encoder)), options_(encoder), head_forms_(std::make_unique<StepForms>()) {
  const PairBlueprint plan = blueprint(config_, encoder);
  encoder_ = register_module("encoder", std::make_shared<StackImpl>(plan.encoder, options));
  decoder_ = register_module("decoder", std::make_shared<StackImpl>(plan.decoder, options));
  passes_ = std::make_unique<EncoderPasses>(plan.passes);
  score_scale_ = plan.score_scale;
  if (!config.tie_word_embeddings) {
    head_ = register_parameter("head", at::empty({config.target_vocab_size(), config.d_model}, options));
  }
}

EncoderDecoderImpl::~EncoderDecoderImpl() = default;

void EncoderDecoderImpl::set_head_bias(const at::Tensor& bias) {
  require(bias.dim() == 1 && bias.size(0) == config_.target_vocab_size(), "head_bias must be [",
          config_.target_vocab_size(), "], found ", bias.sizes());
  const at::Tensor numbers = head_weight().numbers;
  const at::Tensor value = numbers.defined() ? bias.to(numbers.options().requires_grad(false)) : bias.to(at::kFloat);
  if (head_bias_.defined()) {
    head_bias_.set_data(value);
  } else {
    head_bias_ = register_buffer("head_bias", value);
  }
}

layers::TokenTable EncoderDecoderImpl::target_tokens() const {
  return config_.share_embeddings ? encoder_->embeddings->table() : decoder_->embeddings->table();
}

layers::TokenTable EncoderDecoderImpl::head_weight() const {
  const layers::TokenTable own{head_, int8_head_};
  return own.is_empty() ? target_tokens() : own;
}

void EncoderDecoderImpl::keep_int8(std::shared_ptr<const layers::Int8Weight> weight) {
  int8_head_ = std::move(weight);
  head_ = at::Tensor();
  parameters_.erase("head");
}

at::Tensor EncoderDecoderImpl::scaled(const at::Tensor& hidden) const {
  return score_scale_ == 1.0 ? hidden : hidden * score_scale_;
}

at::Tensor EncoderDecoderImpl::scores(const at::Tensor& hidden) const {
  const layers::TokenTable table = head_weight();
  return VocabularyScorer{.weights = {table.numbers, head_bias_, table.int8}}.logits(scaled(hidden));
}

// A head is met at every step, so that a form of it pays.
at::Tensor EncoderDecoderImpl::step_scores(const at::Tensor& hidden) const {
  const layers::TokenTable table = head_weight();
  return VocabularyScorer{.weights = {table.numbers, head_bias_, table.int8}}.step_logits(scaled(hidden), *head_forms_);
}

layers::Source EncoderDecoderImpl::read_source(const SourceText& text, const DropoutSeed& seed) {
  const EncoderBatch batch = source_batch(config_, text, *encoder_);
  first_was_global_ = batch.globals.defined() && !text.global_attention_mask.defined();
  layers::Source source;
  // Padding alone: which position of a source is global is nothing to the decoder.
  describe_rows(source.padding, batch.keep, {}, batch.ids);
  const PassCall call{layers::dropout_seed(seed, kEncoderSeed, 0), config_.gradient_checkpointing};
  source.hidden = passes_->run(*encoder_, batch, call).hidden;
  return source;
}

at::Tensor EncoderDecoderImpl::encoder_states(const SourceText& source) {
  require(!is_training(), "encoder_states() is for a trained model, but this one is in training mode; call eval()");
  return read_source(source, 0).hidden;
}

at::Tensor EncoderDecoderImpl::run_decoder(const at::Tensor& ids, layers::BlockContext& context) {
  const layers::TokenTable shared = config_.share_embeddings ? target_tokens() : layers::TokenTable{};
  return decoder_->forward({.ids = ids, .tokens = shared}, context, config_.gradient_checkpointing).hidden;
}

/// The decoder's last hidden states, and the encoder's.
std::pair<at::Tensor, at::Tensor> EncoderDecoderImpl::run(const SequencePair& pair) {
  check_target_tokens(config_, pair.decoder_input_ids);
  layers::BlockContext context;
  context.weights = pair.weights;
  require(pair.weights == nullptr || (pair.weights->layer >= 0 && pair.weights->layer < config_.decoder_layers),
          "cross-attention weights of layer ", pair.weights ? pair.weights->layer : 0,
          ", but the decoder has layers 0 to ", config_.decoder_layers - 1);
  const at::Tensor ids = attention::placed(pair.decoder_input_ids, encoder_->device());
  describe_rows(context.attention, pair.decoder_attention_mask, {}, ids);
  if (is_training() && (config_.dropout > 0.0 || config_.attention_dropout > 0.0)) {
    context.attention.seed = pair.seed ? *pair.seed : draw_seed();
  }
  context.source = std::make_shared<const layers::Source>(read_source(pair.source(), context.attention.seed));
  const at::Tensor hidden = run_decoder(ids, context);
  return {hidden, context.source->hidden};
}

at::Tensor EncoderDecoderImpl::hidden_states(const SequencePair& pair) { return run(pair).first; }

at::Tensor EncoderDecoderImpl::logits(const SequencePair& pair) { return scores(hidden_states(pair)); }

std::pair<at::Tensor, at::Tensor> EncoderDecoderImpl::logits_and_states(const SequencePair& pair) {
  const auto [hidden, states] = run(pair);
  return {scores(hidden), states};
}

at::Tensor EncoderDecoderImpl::loss(const SequencePair& pair, const at::Tensor& labels, double smoothing) {
  require(labels.defined() && pair.decoder_input_ids.defined() && labels.sizes() == pair.decoder_input_ids.sizes(),
          "labels and decoder_input_ids differ in shape");
  const layers::TokenTable table = head_weight();
  VocabularyScorer scorer{.weights = {table.numbers, head_bias_, table.int8}, .chunk = config_.loss_chunk_size};
  return scorer.loss(scaled(hidden_states(pair)).flatten(0, 1), labels.flatten(), smoothing);
}

std::shared_ptr<const layers::Source> EncoderDecoderImpl::encode(const SourceText& text) {
  require(!is_training(), "encode() is for decoding, but the model is in training mode; call eval() first");
  const at::NoGradGuard without_gradients;
  auto source = std::make_shared<layers::Source>(read_source(text, 0));
  for (const layers::Block& block : decoder_->blocks()) {
    // The projection gives views in which the keys of a head lie far apart; every token that is decoded reads them all.
    const layers::SourceHeads heads = block->source_heads(source->hidden);
    source->heads.push_back({heads.key.contiguous(), heads.value.contiguous()});
  }
  source->hidden = at::Tensor();
  return source;
}

layers::DecodingState EncoderDecoderImpl::initial_state() const { return decoder_->initial_state(); }

at::Tensor EncoderDecoderImpl::decode(const at::Tensor& ids, layers::DecodingState& state,
                                      const std::shared_ptr<const layers::Source>& source) {
  require(!is_training(), "decode() is for a trained model, but this one is in training mode; call eval() first");
  const at::NoGradGuard without_gradients;
  check_target_tokens(config_, ids);
  layers::BlockContext context;
  context.attention.query_offset = state.length();
  context.state = &state;
  context.source = source;
  const bool keeps_forms = numbers_of_a_token(config_) <= layers::kMostPackedNumbers;
  const layers::PackingForSteps same_weights_again(keeps_forms);
  const layers::KeepingOperands same_operands_again(keeps_forms);
  const at::Tensor hidden = run_decoder(attention::placed(ids, encoder_->device()), context);
  // Only now: every layer has appended behind the same length.
  state.advance(ids.size(1));
  return step_scores(hidden.select(1, ids.size(1) - 1));
}

void EncoderDecoderImpl::train(bool on) {
  if (on && !is_training()) {
    head_forms_ = std::make_unique<StepForms>();
  }
  torch::nn::Module::train(on);
}

std::vector<std::pair<std::string, std::string>> EncoderDecoderImpl::computed() const {
  auto said = passes_->computed(*encoder_);
  if (first_was_global_) {
    said.emplace_back("global", "the first token of each source");
  }
  if (layers::holds_int8(*this)) {
    said.emplace_back("weights", "int8");
  }
  return said;
}

std::int64_t EncoderDecoderImpl::parameter_count() const { return models::parameter_count(*this); }

}  // namespace weft::models
