// SPDX-License-Identifier: Apache-2.0
// One scorer behind the heads of causal and of masked language models.
#include "weft/models/heads/vocabulary_head.h"

#include <ATen/ops/empty.h>

#include <utility>

#include "weft/attention/accumulation.h"
#include "weft/attention/devices/placed.h"
#include "weft/core/error.h"

namespace weft::models {
namespace {

/// The head has no gate: a gated feed-forward goes with the activation inside its gate.
layers::Activation head_activation(const TransformerConfig& config) {
  return layers::inside_gate(layers::parse_activation(config.hidden_act));
}

}  // namespace

LanguageModelHeadImpl::LanguageModelHeadImpl(const TransformerConfig& config, const at::TensorOptions& options)
    : activation_(head_activation(config)), chunk_(config.loss_chunk_size) {
  const std::int64_t width = config.output_size();
  if (const auto adaptive = config.adaptive_vocabulary()) {
    clusters = register_module("vocabulary", layers::AdaptiveHead(*adaptive, config.tie_word_embeddings, options));
  } else if (!config.tie_word_embeddings) {
    weight = register_parameter("weight", at::empty({config.vocab_size, width}, options));
  }
  if (!config.is_decoder || config.lm_head_bias) {
    bias = register_parameter("bias", at::empty({config.vocab_size}, options));
  }
  // An encoder whose config gives the head a bias has nothing else in it (Reformer).
  if (!config.is_decoder && !config.lm_head_bias) {
    transform = register_module("transform", layers::Linear(width, width, true, options));
    transform_norm = register_module(
        "transform_norm", layers::Norm(width, layers::NormConfig{.epsilon = config.layer_norm_eps}, options));
  }
  if (config.span_boundary_objective) {
    span_boundary = register_module("span_boundary", SpanBoundaryHead(config, options));
  }
}

VocabularyScorer LanguageModelHeadImpl::scorer(const layers::EmbeddingsImpl& embeddings) const {
  if (clusters) {
    return {.adaptive = clusters->scorer(*embeddings.clusters, chunk_)};
  }
  const layers::TokenTable own{weight, int8_};
  const layers::TokenTable table = own.is_empty() ? embeddings.table() : own;
  return {transform, transform_norm, activation_, {table.numbers, bias, table.int8}, chunk_};
}

at::Tensor LanguageModelHeadImpl::step_scores(const layers::EmbeddingsImpl& embeddings,
                                              const at::Tensor& hidden) const {
  return scorer(embeddings).step_logits(hidden, *forms_);
}

void LanguageModelHeadImpl::train(bool on) {
  if (on && !is_training()) {
    forms_ = std::make_unique<StepForms>();
  }
  torch::nn::Module::train(on);
}

void LanguageModelHeadImpl::keep_int8(std::shared_ptr<const layers::Int8Weight> given) {
  int8_ = std::move(given);
  weight = at::Tensor();
  parameters_.erase("weight");
}

at::Tensor LanguageModelHeadImpl::span_loss(const at::Tensor& hidden, const layers::EmbeddingsImpl& embeddings,
                                            const at::Tensor& labels) {
  const SpanTokens found = span_tokens(labels);
  const auto there = [&](const at::Tensor& tensor) { return attention::placed(tensor, hidden.device()); };
  const SpanTokens spans{there(found.before), there(found.behind), there(found.place), there(found.labels)};
  const at::Tensor boundary = span_boundary(hidden.flatten(0, 1), spans);
  return layers::linear_cross_entropy(boundary, scorer(embeddings).weights, spans.labels, chunk_);
}

at::Tensor VocabularyScorer::transformed(const at::Tensor& hidden) {
  return transform ? norm(transform->activated(hidden, activation)) : hidden;
}

at::Tensor VocabularyScorer::logits(const at::Tensor& hidden) {
  if (adaptive) {
    return adaptive->log_probabilities(hidden);
  }
  const at::Tensor seen = transformed(hidden);
  return attention::at_least_float(weights.int8 ? weights.int8->multiply(seen, weights.bias, {})
                                                : layers::apply_linear(seen, weights.weight, weights.bias));
}

at::Tensor VocabularyScorer::step_logits(const at::Tensor& hidden, StepForms& forms) {
  if (adaptive || weights.int8) {
    return logits(hidden);
  }
  const at::Tensor& table = weights.weight;
  const at::Tensor seen = transformed(hidden);
  if (layers::PackedWeight::serves(seen, table, {})) {
    return attention::at_least_float(forms.packed.multiply(seen, table, weights.bias, {}));
  }
  return attention::at_least_float(layers::apply_linear(seen, table, weights.bias, forms.operands, forms.packed));
}

at::Tensor VocabularyScorer::loss(const at::Tensor& hidden, const at::Tensor& labels, double smoothing) {
  if (adaptive) {
    if (smoothing != 0.0) {
      fail(ErrorKind::kUnsupported, "label_smoothing must be 0 for a vocabulary in clusters, found ", smoothing);
    }
    return adaptive->loss(hidden, attention::placed(labels, hidden.device()));
  }
  // Before the transform: a masked language model predicts one token in seven, and the rest costs nothing.
  const layers::Labelled kept = layers::keep_labelled(hidden, labels);
  return layers::linear_cross_entropy(transformed(kept.hidden), weights, kept.labels, chunk, smoothing);
}

layers::LabelScores VocabularyScorer::token_scores(const at::Tensor& hidden, const at::Tensor& given) {
  const at::Tensor labels = attention::placed(given, hidden.device());
  if (adaptive) {
    return adaptive->token_scores(hidden, labels);
  }
  return layers::linear_cross_entropy_each(transformed(hidden), weights, labels, chunk);
}

}  // namespace weft::models
