// SPDX-License-Identifier: Apache-2.0
// A sublayer is a function between a norm, dropout and a residual connection.
#include "weft/layers/blocks/attention_block.h"

#include <utility>

#include "weft/core/error.h"
#include "weft/layers/dropout.h"

namespace weft::layers {

AttentionBlockImpl::AttentionBlockImpl(const BlockConfig& config, SelfAttention self_attention,
                                       const at::TensorOptions& options)
    : attention(register_module("attention", std::move(self_attention))),
      attention_norm(register_module("attention_norm",
                                     Norm(config.hidden_size, config.attention_norm.value_or(config.norm), options))),
      layer_(config.layer),
      norm_first_(config.norm_first),
      dropout_(config.dropout),
      attention_output_dropout_(config.attention_output_dropout.value_or(config.dropout)) {}

void AttentionBlockImpl::add_feed_forward(const BlockConfig& config, const at::TensorOptions& options) {
  feed_forward = register_module("feed_forward", FeedForward(config, options));
  feed_forward_norm = add_norm("feed_forward_norm", config, options);
}

Norm AttentionBlockImpl::add_norm(const char* name, const BlockConfig& config, const at::TensorOptions& options) {
  return register_module(name, Norm(config.hidden_size, config.norm, options));
}

std::string AttentionBlockImpl::description() const { return attention->description(); }

void AttentionBlockImpl::share(BlockImpl& first) {
  auto* const other = dynamic_cast<AttentionBlockImpl*>(&first);
  require(other != nullptr, "a block of `", description(), "` shares nothing with layer 0, `", first.description(),
          "`");
  attention->share(*other->attention);
}

std::vector<at::Tensor> AttentionBlockImpl::shared_parameters() const { return attention->shared_parameters(); }

bool AttentionBlockImpl::needs_input() const { return attention->needs_input(); }

std::unique_ptr<attention::AttentionState> AttentionBlockImpl::initial_state() const {
  return attention->initial_state();
}

void AttentionBlockImpl::remember(const at::Tensor& rows, attention::AttentionState& state) {
  attention->remember(seen(rows, attention_norm), state);
}

at::Tensor AttentionBlockImpl::dropped(const at::Tensor& given, std::int64_t site, const BlockContext& context) const {
  const double probability = site == kAttentionSite ? attention_output_dropout_ : dropout_;
  return is_training() ? seeded_dropout(given, probability, dropout_seed(context.attention.seed, layer_, site)) : given;
}

at::Tensor AttentionBlockImpl::forwarded(const at::Tensor& rows, const BlockContext& context) {
  return feed_forward->forward(rows, dropout_seed(context.attention.seed, layer_, kInnerSite));
}

at::Tensor AttentionBlockImpl::added(const at::Tensor& x, at::Tensor given, Sublayer sublayer,
                                     const BlockContext& context) const {
  given = dropped(given, sublayer.site, context);
  return norm_first_ ? x + given : sublayer.norm->of_sum(x, std::move(given));
}

at::Tensor AttentionBlockImpl::fed(const at::Tensor& x, const BlockContext& context) {
  at::Tensor given = forwarded(seen(x, feed_forward_norm), context);
  return added(x, std::move(given), {feed_forward_norm, kFeedForwardSite}, context);
}

}  // namespace weft::layers
