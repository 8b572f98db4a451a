// SPDX-License-Identifier: Apache-2.0
// A stack and its head; decoding runs the new tokens alone.
#include "weft/models/language_model.h"

#include <ATen/ops/cat.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>

#include "weft/attention/devices/placed.h"
#include "weft/attention/state/whole_text.h"
#include "weft/core/error.h"
#include "weft/layers/activation.h"
#include "weft/layers/inference/packing_for_steps.h"
#include "weft/layers/memory/segment_memory.h"
#include "weft/layers/replay/kept_operands.h"
#include "weft/models/families/causal_variant.h"
#include "weft/models/heads/vocabulary_head.h"
#include "weft/models/stack/batch_rows.h"
#include "weft/models/stack/compressive.h"
#include "weft/models/stack/initialize.h"
#include "weft/models/stack/stack.h"

namespace weft::models {
namespace {

void check_ids(const at::Tensor& ids, std::int64_t vocabulary) {
  require(ids.defined() && ids.dim() == 2 && ids.scalar_type() == at::kLong && ids.numel() > 0,
          "input_ids must be int64 [batch, length] with at least one token");
  check_range(ids, vocabulary, "input_ids", "vocab_size");
}

/// The scores of labels [B, N], where the labels are.
TokenScores scores_like(const layers::LabelScores& scores, const at::Tensor& labels) {
  return {attention::placed(scores.nats.view(labels.sizes()), labels.device()),
          attention::placed(scores.hits.view(labels.sizes()), labels.device())};
}

void check_labels(const at::Tensor& ids, const at::Tensor& labels) {
  require(labels.defined() && ids.defined() && labels.sizes() == ids.sizes(),
          "labels and input_ids differ in shape: ", labels.sizes(), " and ", ids.sizes());
}

/// Of the weights that one token is multiplied by.
std::int64_t numbers_of_a_step(const TransformerConfig& config) {
  const std::int64_t of_feed_forward = layers::is_gated(layers::parse_activation(config.hidden_act)) ? 3 : 2;
  const std::int64_t columns = 4 * config.hidden_size + of_feed_forward * config.feed_forward_size();
  return config.hidden_size * (config.num_hidden_layers * columns + config.vocab_size);
}

Initializer initializer_of(const TransformerConfig& config) {
  // Each of two streams takes in every second sublayer.
  const double sublayers = static_cast<double>(config.num_hidden_layers) * (config.is_reversible() ? 1.0 : 2.0);
  Initializer initializer{.range = config.initializer_range,
                          .by_fan_in = config.initialization == "fan_in",
                          .residual_divisor = config.norm_position == "pre" ? std::sqrt(sublayers) : 1.0};
  variant_of(config).first_values(config, initializer);
  return initializer;
}

}  // namespace

LanguageModelImpl::LanguageModelImpl(const TransformerConfig& config)
    : LanguageModelImpl(config, at::TensorOptions(at::kFloat)) {
  initialize(*this, initializer_of(config));
}

LanguageModelImpl::LanguageModelImpl(const TransformerConfig& config, const at::TensorOptions& options)
    : config_(config) {
  validate(config, "model config");
  stack_ = std::make_shared<StackImpl>(stack_config(config), options);
  // In a checkpoint the parts of the stack have no prefix.
  for (const auto& part : stack_->named_children()) {
    register_module(part.key(), part.value());
  }
  for (const auto& own : stack_->named_parameters(false)) {
    register_parameter(own.key(), own.value());
  }
  head_ = register_module("head", std::make_shared<LanguageModelHeadImpl>(config, options));
}

at::Tensor LanguageModelImpl::run(const at::Tensor& ids, layers::BlockContext& context) {
  return stack_->forward({.ids = ids}, context, config_.gradient_checkpointing).hidden;
}

CompressiveSizes LanguageModelImpl::sizes() const {
  return {config_.memory_length, config_.max_position_embeddings, config_.compressed_memory_length,
          config_.compression_rate};
}

LanguageModelImpl::Computed LanguageModelImpl::run_behind(layers::SegmentMemory& memory, const at::Tensor& ids,
                                                          layers::BlockContext& context) {
  require(config_.memory_length > 0, "this model has no memory: memory_length is 0");
  require(!context.attention.key_keep.defined(), "a segment behind a memory has no padding, found an attention_mask");
  require(memory.rows() == 0 || memory.layers.front().size(0) == ids.size(0), "the memory has ",
          memory.rows() == 0 ? 0 : memory.layers.front().size(0), " rows, input_ids ", ids.size(0));
  for (std::vector<at::Tensor>* rows : {&memory.layers, &memory.compressed}) {
    for (at::Tensor& layer : *rows) {  // a checkpoint leaves them on the CPU
      layer = attention::placed(layer, ids.device());
    }
  }
  context.attention.query_offset = memory.rows();
  context.memory = std::make_shared<const layers::SegmentMemory>(memory);
  context.inputs = std::make_shared<std::vector<at::Tensor>>();
  Computed computed{run(ids, context), {}};
  if (config_.compressed_memory_length > 0) {
    computed.compression_loss = take_in(*stack_, memory, *context.inputs, sizes());
  } else {
    memory.take(*context.inputs, config_.memory_length);
  }
  return computed;
}

at::Tensor LanguageModelImpl::run_piece(layers::DecodingState& state, const at::Tensor& ids,
                                        layers::BlockContext& context) {
  context.attention.query_offset = state.length();
  context.state = &state;
  at::Tensor hidden = run(ids, context);
  // Only now: every layer has appended behind the same length.
  state.advance(ids.size(1));
  return hidden;
}

at::Tensor LanguageModelImpl::run_behind(layers::DecodingState& state, const at::Tensor& given) {
  if (!config_.is_decoder) {
    fail(ErrorKind::kUnsupported, "decode needs a decoder, but is_decoder is false");
  }
  if (stack_->needs_input()) {
    fail(ErrorKind::kUnsupported, "decode names no positions, but the attention names `input`");
  }
  check_ids(given, config_.vocab_size);
  const at::Tensor ids = attention::placed(given, stack_->device());
  if (auto* const text = dynamic_cast<attention::WholeText*>(&state.layer(0)); text != nullptr) {
    text->append_ids(ids);
    layers::BlockContext context;
    const at::Tensor hidden = run(text->ids(state.length() + ids.size(1)), context);
    state.advance(ids.size(1));
    return hidden.narrow(1, hidden.size(1) - ids.size(1), ids.size(1));
  }
  if (state.memory() == nullptr) {
    layers::BlockContext context;
    return run_piece(state, ids, context);
  }
  // A segment ends where it would have ended in training, however the tokens come.
  const CompressiveSizes all = sizes();
  layers::SegmentMemory& memory = *state.memory();
  std::vector<at::Tensor> hidden;
  for (std::int64_t begin = 0; begin < ids.size(1);) {
    const std::int64_t count = std::min(all.segment - memory.unfinished, ids.size(1) - begin);
    layers::BlockContext context;
    context.inputs = std::make_shared<std::vector<at::Tensor>>();
    hidden.push_back(run_piece(state, ids.narrow(1, begin, count), context));
    begin += count;
    memory.unfinished = (memory.unfinished + count) % all.segment;
    if (memory.unfinished > 0) {
      memory.append(*context.inputs);
    } else {
      take_in(*stack_, memory, *context.inputs, all);
      refill(*stack_, state);
    }
  }
  return at::cat(hidden, 1);
}

LanguageModelImpl::Computed LanguageModelImpl::compute(const ModelInput& input) {
  check_ids(input.input_ids, config_.vocab_size);
  if (stack_->needs_input() && input.global_positions.empty()) {
    throw Error(
        ErrorKind::kArgument,
        "the attention of the model names `input`, but no positions that it stands for (global_positions) are given",
        "`global(first=1)` in place of `global(input)` is the first token of each text");
  }
  const at::Tensor ids = attention::placed(input.input_ids, stack_->device());
  layers::BlockContext context;
  describe_rows(context.attention, input.attention_mask, input.global_positions, ids);
  const bool drops = config_.hidden_dropout_prob > 0.0 || config_.attention_probs_dropout_prob > 0.0;
  if (is_training() && (input.seed || drops)) {  // of rotations, too, where there is no dropout
    context.attention.seed = input.seed ? *input.seed : draw_seed();
  }
  return input.memory != nullptr ? run_behind(*input.memory, ids, context) : Computed{run(ids, context), {}};
}

at::Tensor LanguageModelImpl::hidden_states(const ModelInput& input) { return compute(input).hidden; }

at::Tensor LanguageModelImpl::logits(const ModelInput& input) {
  return head_->scorer(*stack_->embeddings).logits(hidden_states(input));
}

at::Tensor LanguageModelImpl::loss(const ModelInput& input, const at::Tensor& labels, double smoothing) {
  check_labels(input.input_ids, labels);
  const auto [hidden, compression_loss] = compute(input);
  const layers::EmbeddingsImpl& tokens = *stack_->embeddings;
  at::Tensor loss = head_->scorer(tokens).loss(hidden.flatten(0, 1), labels.flatten(), smoothing);
  if (config_.span_boundary_objective && is_training()) {
    loss = loss + head_->span_loss(hidden, tokens, labels);
  }
  return compression_loss.defined() && is_training() ? loss + compression_loss : loss;
}

TokenScores LanguageModelImpl::token_scores(const ModelInput& input, const at::Tensor& labels) {
  check_labels(input.input_ids, labels);
  const at::NoGradGuard without_gradients;
  return scores_like(
      head_->scorer(*stack_->embeddings).token_scores(hidden_states(input).flatten(0, 1), labels.flatten()), labels);
}

TokenScores LanguageModelImpl::token_scores(const at::Tensor& input_ids, const at::Tensor& labels,
                                            layers::DecodingState& state) {
  check_labels(input_ids, labels);
  const at::NoGradGuard without_gradients;
  const at::Tensor hidden = run_behind(state, input_ids);
  return scores_like(head_->scorer(*stack_->embeddings).token_scores(hidden.flatten(0, 1), labels.flatten()), labels);
}

layers::DecodingState LanguageModelImpl::initial_state() const {
  layers::DecodingState state = stack_->initial_state();
  for (std::int64_t layer = 0; layer < std::ssize(stack_->blocks()); ++layer) {
    if (attention::is_whole_text(state.layer(layer))) {
      layers::DecodingState::Layers text;
      text.push_back(std::make_unique<attention::WholeText>());
      return layers::DecodingState(std::move(text));
    }
  }
  if (config_.compressed_memory_length > 0) {
    state.begin_memory();
  } else if (config_.memory_length > 0) {
    state.limit(config_.memory_length);
  }
  return state;
}

void LanguageModelImpl::set_memory_length(std::int64_t tokens, std::string_view where) {
  if (tokens > 0) {
    check_memory(config_, where);
  }
  require(tokens > 0 || config_.compressed_memory_length == 0, where,
          ": must be at least 1 for a model with a compressed memory");
  config_.memory_length = tokens;
}

void LanguageModelImpl::set_compressed_memory_length(std::int64_t rows, std::string_view where) {
  require(config_.compressed_memory_length > 0, where, ": this model was not trained with a compressed memory");
  require(rows > 0, where, ": must be at least 1, found ", rows);
  config_.compressed_memory_length = rows;
}

at::Tensor LanguageModelImpl::decode(const at::Tensor& input_ids, layers::DecodingState& state) {
  const at::NoGradGuard without_gradients;
  // A single text gains nothing by packed weights: its tokens come one by one, and a product of one row reads all of
  // the weights in either form.
  const bool keeps_forms = numbers_of_a_step(config_) <= layers::kMostPackedNumbers;
  std::optional<layers::PackingForSteps> same_weights_again;
  if (input_ids.defined() && input_ids.dim() == 2 && input_ids.size(0) > 1) {
    same_weights_again.emplace(keeps_forms);
  }
  const layers::KeepingOperands same_operands_again(keeps_forms);
  const at::Tensor hidden = run_behind(state, input_ids);
  return head_->step_scores(*stack_->embeddings, hidden.select(1, input_ids.size(1) - 1));
}

std::int64_t LanguageModelImpl::parameter_count() const { return models::parameter_count(*this); }

}  // namespace weft::models
