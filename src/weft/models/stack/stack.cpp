// SPDX-License-Identifier: Apache-2.0
// One loop over the blocks, with or without recomputation, or reversible layers made of them.
#include "weft/models/stack/stack.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randint.h>
#include <c10/core/GradMode.h>
#include <torch/nn/modules/container/modulelist.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/work/pieces.h"
#include "weft/layers/attention/cross_attention.h"
#include "weft/layers/dropout.h"
#include "weft/layers/replay/recompute.h"
#include "weft/layers/replay/reversible.h"

namespace weft::models {
namespace {

std::int64_t learned_positions(const layers::EmbeddingsConfig& config) {
  switch (config.positions) {
    case layers::PositionKind::kLearned:
    case layers::PositionKind::kPicture:
    case layers::PositionKind::kStride:
      return config.maximum_length;
    case layers::PositionKind::kAxial:
      return config.axial.length();
    default:
      return 0;
  }
}

constexpr std::int64_t kEmbeddingsLayer = -1;  // of dropout_seed: before layer 0
constexpr std::int64_t kGlobalSite = 2;        // 1 is that of the text's embeddings

std::vector<at::Tensor> leaves_of(const std::vector<std::shared_ptr<torch::nn::Module>>& modules) {
  std::vector<at::Tensor> leaves;
  for (const auto& module : modules) {
    for (const at::Tensor& parameter : module->parameters()) {
      leaves.push_back(parameter);
    }
  }
  return leaves;
}

layers::ReversibleLayer reversible_layer(layers::TransformerBlock block, const layers::BlockContext& context) {
  // Both functions hold block and context: they run again in the backward pass, long after this call.
  const auto again = std::make_shared<layers::BlockContext>(context);
  again->inputs = nullptr;
  again->attention.choices = at::GradMode::is_enabled() ? std::make_shared<attention::AttentionChoices>() : nullptr;
  layers::ReversibleLayer layer;
  if (at::GradMode::is_enabled()) {
    layer.f_leaves = leaves_of({block->attention_norm.ptr(), block->attention.ptr()});
    for (const at::Tensor& shared : block->attention->shared_parameters()) {
      layer.f_leaves.push_back(shared);
    }
    layer.g_leaves = leaves_of({block->feed_forward_norm.ptr(), block->feed_forward.ptr()});
  }
  layer.f = [block, again](const at::Tensor& x) mutable { return block->attention_branch(x, *again); };
  layer.g = [block, again](const at::Tensor& x) mutable { return block->feed_forward_branch(x, *again); };
  return layer;
}

}  // namespace

StackImpl::StackImpl(const StackConfig& config, const at::TensorOptions& options)
    : embeddings(register_module("embeddings", layers::Embeddings(config.embeddings, options))),
      last_dropout_(config.last_dropout),
      learned_positions_(learned_positions(config.embeddings)),
      reversible_(config.reversible),
      joins_streams_(config.joins_streams),
      length_field_(config.length_field) {
  // The list is for names and parameters, layers.0.attention...; calls go through the vector of typed holders.
  const auto list = register_module("layers", torch::nn::ModuleList());
  for (const layers::BlockConfig& block : config.blocks) {
    layers_.emplace_back(block, options);
    list->push_back(layers_.back());
    layers_.back()->attention->share(*layers_.front()->attention);
  }
  const std::int64_t latent_rows = layers_.empty() ? 0 : layers_.front()->attention->latents();
  if (latent_rows > 0) {
    latents = register_parameter("latents", at::empty({latent_rows, config.embeddings.hidden_size}, options));
  }
  if (config.star) {
    star_ = register_module("star", layers::StarTransformer(*config.star, options));
  }
  if (config.globals) {
    globals = register_module("globals", layers::Embeddings(*config.globals, options));
  }
  if (config.last_norm) {
    const std::int64_t width = config.embeddings.hidden_size * (config.joins_streams ? 2 : 1);
    norm_ = register_module("norm", layers::LayerNorm(width, config.embeddings.layer_norm_eps, options));
  }
  if (config.rope_theta > 0.0 && !config.blocks.empty()) {
    rotary_.emplace(config.blocks.front().head_dim(), config.rope_theta);
  }
}

StackOutput StackImpl::forward(const StackInput& input, layers::BlockContext& context, bool recompute) {
  const std::int64_t first = context.attention.query_offset;
  const std::int64_t needed = first + input.ids.size(1);
  require(learned_positions_ == 0 || needed <= learned_positions_, "positions are learned for ", length_field_, " = ",
          learned_positions_, " tokens, but ", needed, " are needed");
  StackOutput rows;
  rows.hidden = embeddings(layers::EmbeddingsInput{.ids = input.ids,
                                                   .first_position = first,
                                                   .seed = context.attention.seed,
                                                   .token_types = input.token_types,
                                                   .shared_tokens = input.tokens});
  if (rotary_) {
    // Once for all layers: the angles depend on the position alone.
    context.rotation = rotary_->at_positions(first, input.ids.size(1), rows.hidden.options());
  }
  if (globals) {
    const std::uint64_t seed = layers::dropout_seed(context.attention.seed, kEmbeddingsLayer, kGlobalSite);
    rows.beside =
        globals(layers::EmbeddingsInput{.ids = input.beside_ids, .seed = seed, .token_types = input.beside_types});
    context.attention.beside = rows.beside.size(1);
  }
  if (star_) {
    const layers::StarNodes nodes = star_(rows.hidden, input.keep, recompute);
    rows = {nodes.satellites, nodes.relay.unsqueeze(1)};
  } else {
    rows = run_layers(rows, context, recompute);
  }
  rows.hidden = norm_ ? norm_(rows.hidden) : rows.hidden;
  if (embeddings->is_training()) {  // a model registers what a stack holds, not the stack
    const auto behind = static_cast<std::int64_t>(layers_.size());  // no block has this number
    rows.hidden =
        layers::seeded_dropout(rows.hidden, last_dropout_, layers::dropout_seed(context.attention.seed, behind, 1));
  }
  return rows;
}

StackOutput StackImpl::run_layers(const StackOutput& first, const layers::BlockContext& context, bool recompute) const {
  if (reversible_) {
    return {run_reversible(first.hidden, context)};
  }
  // One tensor for rows of both kinds: a block that runs again keeps one.
  const at::Tensor in_front =
      latents.defined() ? latents.to(first.hidden.scalar_type()).expand({first.hidden.size(0), -1, -1}) : first.beside;
  if (!in_front.defined()) {
    return {run_plain(first.hidden, context, recompute)};
  }
  const std::int64_t count = in_front.size(1);
  const at::Tensor both = run_plain(at::cat({in_front, first.hidden}, 1), context, recompute);
  return {both.narrow(1, count, first.hidden.size(1)).contiguous(),
          latents.defined() ? at::Tensor() : both.narrow(1, 0, count).contiguous()};
}

at::Tensor StackImpl::run_plain(at::Tensor hidden, const layers::BlockContext& context, bool recompute) const {
  // What a block hands out beside its result would have no graph if the block ran again.
  const std::int64_t asked = context.weights != nullptr ? context.weights->layer : -1;
  for (std::int64_t layer = 0; layer < std::ssize(layers_); ++layer) {
    if (context.inputs != nullptr) {
      context.inputs->push_back(hidden.detach());
    }
    hidden = run_block(layers_[static_cast<std::size_t>(layer)], hidden, context, recompute && layer != asked);
    end_piece(hidden.size(0) * hidden.size(1));
  }
  return hidden;
}

at::Tensor StackImpl::run_reversible(const at::Tensor& hidden, const layers::BlockContext& context) const {
  std::vector<layers::ReversibleLayer> steps;
  steps.reserve(layers_.size());
  for (const layers::TransformerBlock& block : layers_) {
    steps.push_back(reversible_layer(block, context));
  }
  const layers::Streams end = layers::reversible(steps, {hidden, hidden}, context.inputs.get());
  return joins_streams_ ? at::cat({end.first, end.second}, -1) : (end.first + end.second) * 0.5;
}

at::Tensor StackImpl::run_block(layers::TransformerBlock block, const at::Tensor& hidden,
                                const layers::BlockContext& context, bool recompute) const {
  if (!recompute || !at::GradMode::is_enabled()) {
    return block(hidden, context);
  }
  std::vector<at::Tensor> leaves = block->parameters();
  for (const at::Tensor& shared : block->attention->shared_parameters()) {
    leaves.push_back(shared);
  }
  if (context.source != nullptr) {
    leaves.push_back(context.source->hidden);
  }
  // Holder and context are copied into the closure: it runs again in the backward pass, long after this call. Weights
  // that are handed out hold the graph, which must not hold them.
  layers::BlockContext again = context;
  again.weights = nullptr;
  again.attention.choices = std::make_shared<attention::AttentionChoices>();
  return layers::recompute([block, again](const at::Tensor& x) mutable { return block(x, again); }, hidden, leaves);
}

layers::DecodingState StackImpl::initial_state() const {
  layers::DecodingState::Layers states;
  for (const layers::TransformerBlock& block : layers_) {
    states.push_back(block->attention->initial_state());
  }
  return layers::DecodingState(std::move(states));
}

bool StackImpl::needs_input() const {
  return std::any_of(layers_.begin(), layers_.end(),
                     [](const layers::TransformerBlock& block) { return block->attention->needs_input(); });
}

std::vector<std::string> StackImpl::descriptions() const {
  std::vector<std::string> each;
  each.reserve(layers_.size() + 1);
  for (const layers::TransformerBlock& block : layers_) {
    each.push_back(block->attention->description());
  }
  if (star_) {
    each.emplace_back("ring and relay");
  }
  return each;
}

std::int64_t parameter_count(const torch::nn::Module& model) {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : model.parameters()) {
    count += parameter.numel();
  }
  return count;
}

std::uint64_t draw_seed() {
  const at::Tensor draw =
      at::randint(std::numeric_limits<std::int64_t>::max(), {1}, at::TensorOptions().dtype(at::kLong));
  return static_cast<std::uint64_t>(draw.item<std::int64_t>());
}

}  // namespace weft::models
