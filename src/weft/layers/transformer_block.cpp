// SPDX-License-Identifier: Apache-2.0
// One transformer block.
#include "weft/layers/transformer_block.h"

#include <c10/core/GradMode.h>

#include "weft/layers/dropout.h"

namespace weft::layers {
namespace {

// Uses of dropout, see dropout_seed.
constexpr std::int64_t kAttentionSite = 1;
constexpr std::int64_t kFeedForwardSite = 2;

/// In place where no gradient needs the sublayer's result, which nobody else has.
at::Tensor add_residual(at::Tensor sublayer, const at::Tensor& x) {
  const bool in_place = !at::GradMode::is_enabled() && sublayer.scalar_type() == x.scalar_type();
  return in_place ? sublayer.add_(x) : x + sublayer;
}

}  // namespace

TransformerBlockImpl::TransformerBlockImpl(const BlockConfig& config, const at::TensorOptions& options)
    : attention(register_module("attention", SelfAttention(config, options))),
      attention_norm(register_module("attention_norm", LayerNorm(config.hidden_size, config.layer_norm_eps, options))),
      feed_forward(register_module("feed_forward", FeedForward(config, options))),
      feed_forward_norm(
          register_module("feed_forward_norm", LayerNorm(config.hidden_size, config.layer_norm_eps, options))),
      layer_(config.layer),
      norm_first_(config.norm_first),
      dropout_(config.dropout) {}

at::Tensor TransformerBlockImpl::forward(const at::Tensor& x, const BlockContext& context) {
  if (norm_first_) {
    // y = x + attention(norm(x)); y + feed_forward(norm(y))
    const at::Tensor middle = x + drop(attention->forward(attention_norm(x), context), context, kAttentionSite);
    return middle + drop(feed_forward(feed_forward_norm(middle)), context, kFeedForwardSite);
  }
  // y = norm(x + attention(x)); norm(y + feed_forward(y))
  const at::Tensor middle =
      attention_norm(add_residual(drop(attention->forward(x, context), context, kAttentionSite), x));
  return feed_forward_norm(add_residual(drop(feed_forward(middle), context, kFeedForwardSite), middle));
}

at::Tensor TransformerBlockImpl::drop(const at::Tensor& x, const BlockContext& context, std::int64_t site) const {
  return is_training() ? seeded_dropout(x, dropout_, dropout_seed(context.attention.seed, layer_, site)) : x;
}

}  // namespace weft::layers
