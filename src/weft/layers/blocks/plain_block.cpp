// SPDX-License-Identifier: Apache-2.0
// Two or three sublayers, one after the other, or the functions of two of them.
#include "weft/layers/blocks/plain_block.h"

#include <c10/core/GradMode.h>

#include <utility>

namespace weft::layers {
namespace {

std::vector<at::Tensor> parameters_of_both(const torch::nn::Module& norm, const torch::nn::Module& function) {
  std::vector<at::Tensor> leaves = norm.parameters();
  for (const at::Tensor& parameter : function.parameters()) {
    leaves.push_back(parameter);
  }
  return leaves;
}

}  // namespace

PlainBlockImpl::PlainBlockImpl(const BlockConfig& config, SelfAttention self_attention,
                               const at::TensorOptions& options)
    : AttentionBlockImpl(config, std::move(self_attention), options), layer_(static_cast<std::size_t>(config.layer)) {
  if (!config.cross_attention.empty()) {
    cross_attention = register_module("cross_attention", CrossAttention(config, options));
    cross_attention_norm = add_norm("cross_attention_norm", config, options);
  }
  add_feed_forward(config, options);
}

at::Tensor PlainBlockImpl::memory_rows(const BlockContext& context) {
  if (context.memory == nullptr || context.memory->rows() == 0) {
    return {};
  }
  return seen(context.memory->rows(layer_), attention_norm);  // as the rows of x
}

Rows PlainBlockImpl::forward(const Rows& x, const BlockContext& context) {
  const at::Tensor before = memory_rows(context);
  at::Tensor given = attention->forward(seen(x.text(), attention_norm), context, before);
  at::Tensor hidden = added(x.text(), std::move(given), {attention_norm, kAttentionSite}, context);
  if (cross_attention) {
    given = cross_attention->forward(seen(hidden, cross_attention_norm), context);
    hidden = added(hidden, std::move(given), {cross_attention_norm, kCrossAttentionSite}, context);
  }
  return fed(hidden, context);
}

at::Tensor PlainBlockImpl::attention_branch(const at::Tensor& x, const BlockContext& context) {
  const at::Tensor before = memory_rows(context);
  return dropped(attention->forward(seen(x, attention_norm), context, before), kAttentionSite, context);
}

at::Tensor PlainBlockImpl::feed_forward_branch(const at::Tensor& x, const BlockContext& context) {
  return dropped(forwarded(seen(x, feed_forward_norm), context), kFeedForwardSite, context);
}

ReversibleLayer PlainBlockImpl::reversible(const BlockContext& context) {
  // Both functions hold block and context: they run again in the backward pass, long after this call.
  const auto again = std::make_shared<BlockContext>(context);
  again->inputs = nullptr;
  again->attention.choices = at::GradMode::is_enabled() ? std::make_shared<attention::AttentionChoices>() : nullptr;
  ReversibleLayer layer;
  if (at::GradMode::is_enabled()) {
    layer.f_leaves = parameters_of_both(*attention_norm, *attention);
    for (const at::Tensor& shared : shared_parameters()) {
      layer.f_leaves.push_back(shared);
    }
    layer.g_leaves = parameters_of_both(*feed_forward_norm, *feed_forward);
  }
  const auto self = std::static_pointer_cast<PlainBlockImpl>(shared_from_this());
  layer.f = [self, again](const at::Tensor& x) { return self->attention_branch(x, *again); };
  layer.g = [self, again](const at::Tensor& x) { return self->feed_forward_branch(x, *again); };
  return layer;
}

SourceHeads PlainBlockImpl::source_heads(const at::Tensor& hidden) {
  return cross_attention ? cross_attention->project(hidden) : AttentionBlockImpl::source_heads(hidden);
}

}  // namespace weft::layers
