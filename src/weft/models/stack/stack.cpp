// SPDX-License-Identifier: Apache-2.0
// One loop over the blocks, with or without recomputation, or reversible layers made of them.
#include "weft/models/stack/stack.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randint.h>
#include <c10/core/GradMode.h>
#include <torch/nn/modules/container/modulelist.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "weft/attention/devices/placed.h"
#include "weft/attention/mechanisms/row_lengths.h"
#include "weft/core/error.h"
#include "weft/core/work/pieces.h"
#include "weft/layers/dropout.h"
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

/// The list of blocks, in modules of these names.
std::shared_ptr<torch::nn::ModuleListImpl> list_of_blocks(torch::nn::Module& stack, std::string_view name) {
  const auto list = std::make_shared<torch::nn::ModuleListImpl>();
  torch::nn::Module* owner = &stack;
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
    owner = owner->register_module(std::string(name.substr(0, dot)), std::make_shared<torch::nn::Module>()).get();
    name.remove_prefix(dot + 1);
  }
  return owner->register_module(std::string(name), list);
}

}  // namespace

StackImpl::StackImpl(const StackConfig& config, const at::TensorOptions& options)
    : embeddings(register_module("embeddings", layers::Embeddings(config.embeddings, options))),
      last_dropout_(config.last_dropout),
      learned_positions_(learned_positions(config.embeddings)),
      scales_by_masks_(config.embeddings.masked_id >= 0),
      residual_(config.residual),
      length_field_(config.length_field) {
  // The list is for names and parameters; calls go through the vector.
  const auto list = list_of_blocks(*this, config.blocks_module);
  for (const layers::BlockConfig& block : config.blocks) {
    blocks_.push_back(layers::make_block(block, options));
    list->push_back(blocks_.back());
    blocks_.back()->share(*blocks_.front());
  }
  const layers::CompanionFactory own = blocks_.empty() ? layers::CompanionFactory() : blocks_.front()->companions();
  if (const layers::CompanionFactory& make = config.companions ? config.companions : own) {
    companions_ = make(*this, config.embeddings.width(), options);
  }
  if (config.last_norm) {
    const std::int64_t width = config.embeddings.width() * (residual_ == Residual::kStreamsJoined ? 2 : 1);
    norm_ = register_module("norm", layers::Norm(width, *config.last_norm, options));
  }
  for (const layers::BlockConfig& block : config.blocks) {
    if (block.rope_theta > 0.0) {
      rotary_.add(block.head_dim(), block.rope_theta);
    }
  }
}

StackOutput StackImpl::forward(const StackInput& input, layers::BlockContext& context, bool recompute) {
  const std::int64_t first = context.attention.query_offset;
  const std::int64_t needed = first + input.ids.size(1);
  require(learned_positions_ == 0 || needed <= learned_positions_, "positions are learned for ", length_field_, " = ",
          learned_positions_, " tokens, but ", needed, " are needed");
  const at::Tensor& ids = input.ids;
  const at::Tensor like = ids.unsqueeze(1).unsqueeze(3);  // of heads
  at::Tensor hidden = embeddings(
      layers::EmbeddingsInput{.ids = ids,
                              .first_position = first,
                              .seed = context.attention.seed,
                              .token_types = input.token_types,
                              .shared_tokens = input.tokens,
                              .keep = scales_by_masks_ ? attention::kept_keys(context.attention, like) : at::Tensor()});
  // Once for all layers: the angles depend on the position alone.
  context.rotations = rotary_.at_positions(first, input.ids.size(1), hidden.options());
  StackOutput output;
  if (companions_) {
    const layers::Rows rows = run(companions_->first(hidden, input.companions.get(), context), context, recompute);
    hidden = rows.text().contiguous();
    output.companions = companions_->gives_result() ? rows.companions().contiguous() : at::Tensor();
  } else {
    hidden = run(std::move(hidden), context, recompute).text();
  }
  output.hidden = norm_ ? norm_(hidden) : hidden;
  if (embeddings->is_training()) {  // a model registers what a stack holds, not the stack
    const auto behind = static_cast<std::int64_t>(blocks_.size());  // no block has this number
    output.hidden =
        layers::seeded_dropout(output.hidden, last_dropout_, layers::dropout_seed(context.attention.seed, behind, 1));
  }
  return output;
}

layers::Rows StackImpl::run(layers::Rows rows, const layers::BlockContext& context, bool recompute) const {
  if (residual_ != Residual::kOneStream) {
    return run_streams(rows.text(), context);
  }
  // What a block hands out besides its result would have no graph if the block ran again.
  const std::int64_t asked = context.weights != nullptr ? context.weights->layer : -1;
  for (std::int64_t layer = 0; layer < std::ssize(blocks_); ++layer) {
    if (context.inputs != nullptr) {
      context.inputs->push_back(rows.text().detach());
    }
    layers::BlockImpl& block = *blocks_[static_cast<std::size_t>(layer)];
    const bool again = recompute && layer != asked && at::GradMode::is_enabled();
    rows = again ? block.recomputed(rows, context) : block.forward(rows, context);
    const at::Tensor text = rows.text();
    end_piece(text.size(0) * (rows.count() + text.size(1)));
  }
  return rows;
}

at::Tensor StackImpl::run_streams(const at::Tensor& hidden, const layers::BlockContext& context) const {
  std::vector<layers::ReversibleLayer> steps;
  steps.reserve(blocks_.size());
  for (const layers::Block& block : blocks_) {
    steps.push_back(block->reversible(context));
  }
  const layers::Streams end = layers::reversible(steps, {hidden, hidden}, context.inputs.get());
  return residual_ == Residual::kStreamsJoined ? at::cat({end.first, end.second}, -1) : (end.first + end.second) * 0.5;
}

layers::DecodingState StackImpl::initial_state() const {
  layers::DecodingState::Layers states;
  for (const layers::Block& block : blocks_) {
    states.push_back(block->initial_state());
  }
  return layers::DecodingState(std::move(states));
}

c10::Device StackImpl::device() const {
  return embeddings->tokens.defined() ? embeddings->tokens.device() : attention::device_of(*this);
}

bool StackImpl::needs_input() const {
  return std::any_of(blocks_.begin(), blocks_.end(), [](const layers::Block& block) { return block->needs_input(); });
}

std::vector<std::string> StackImpl::descriptions() const {
  std::vector<std::string> each;
  each.reserve(blocks_.size());
  for (const layers::Block& block : blocks_) {
    each.push_back(block->description());
  }
  return each;
}

std::int64_t parameter_count(const torch::nn::Module& model) {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : model.parameters()) {
    count += parameter.numel();
  }
  for (const auto& [name, keeper] : layers::int8_keepers(model)) {
    const auto kept = keeper->kept();
    count += kept ? kept->outputs() * kept->inputs() : 0;
  }
  return count;
}

DropoutSeed draw_seed() {
  const at::Tensor draw =
      at::randint(std::numeric_limits<std::int64_t>::max(), {1}, at::TensorOptions().dtype(at::kLong));
  return static_cast<std::uint64_t>(draw.item<std::int64_t>());
}

}  // namespace weft::models
