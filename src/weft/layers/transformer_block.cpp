// SPDX-License-Identifier: Apache-2.0
// A sublayer is a function between a norm, dropout and a residual connection; a block is two or three of them, or with
// latents one for each of pack, attention and feed-forward.
#include "weft/layers/transformer_block.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/layer_norm.h>
#include <c10/core/GradMode.h>

#include <memory>

#include "weft/layers/dropout.h"

namespace weft::layers {
namespace {

// Uses of dropout, see dropout_seed.
constexpr std::int64_t kAttentionSite = 1;
constexpr std::int64_t kFeedForwardSite = 2;
constexpr std::int64_t kCrossAttentionSite = 3;
constexpr std::int64_t kPackSite = 5;  // 4 is that of the probabilities of cross-attention, and of pack
constexpr std::int64_t kGlobalAttentionSite = 6;

/// In place where no gradient needs the sublayer's result, which nobody else has.
at::Tensor add_residual(at::Tensor sublayer, const at::Tensor& x) {
  const bool in_place = !at::GradMode::is_enabled() && sublayer.scalar_type() == x.scalar_type();
  return in_place ? sublayer.add_(x) : x + sublayer;
}

BlockConfig pack_config(const BlockConfig& config) {
  BlockConfig pack = config;
  pack.cross_attention = "full";
  pack.maximum_source_length = config.maximum_length;
  return pack;
}

/// Of a call in which latents read `text`.
BlockContext reading(const at::Tensor& text, const attention::AttentionContext& of_text) {
  const auto source = std::make_shared<Source>();
  source->hidden = text;
  source->padding.key_keep = of_text.key_keep;
  source->padding.rows = of_text.rows;
  BlockContext context;
  context.attention.seed = of_text.seed;
  context.source = source;
  return context;
}

SelfAttention make_self_attention(const BlockConfig& config, const at::TensorOptions& options) {
  return config.self_attention ? SelfAttention(config.self_attention(config, options)) : SelfAttention(config, options);
}

}  // namespace

TransformerBlockImpl::TransformerBlockImpl(const BlockConfig& config, const at::TensorOptions& options)
    : layer_(config.layer), norm_first_(config.norm_first), dropout_(config.dropout), norm_eps_(config.layer_norm_eps) {
  const auto norm = [&](const char* name) {
    return register_module(name, LayerNorm(config.hidden_size, config.layer_norm_eps, options));
  };
  attention = register_module("attention", make_self_attention(config, options));
  attention_norm = norm("attention_norm");
  if (attention->latents() > 0) {
    pack = register_module("pack", CrossAttention(pack_config(config), options));
    pack_norm = norm("pack_norm");
  }
  if (attention->has_global_rows()) {
    global_attention_norm = norm("global_attention_norm");
  }
  if (!config.cross_attention.empty()) {
    cross_attention = register_module("cross_attention", CrossAttention(config, options));
    cross_attention_norm = norm("cross_attention_norm");
  }
  feed_forward = register_module("feed_forward", FeedForward(config, options));
  feed_forward_norm = norm("feed_forward_norm");
  if (config.compression) {
    compressor = register_module("compressor", Compressor(*config.compression, config.hidden_size, options));
  }
}

template <typename Function>
at::Tensor TransformerBlockImpl::branch(const at::Tensor& x, Sublayer sublayer, std::uint64_t seed,
                                        Function&& function) const {
  const at::Tensor y = function(norm_first_ ? sublayer.norm(x) : x);
  return is_training() ? seeded_dropout(y, dropout_, dropout_seed(seed, layer_, sublayer.site)) : y;
}

template <typename Function>
at::Tensor TransformerBlockImpl::residual(const at::Tensor& x, Sublayer sublayer, std::uint64_t seed,
                                          Function&& function) const {
  const at::Tensor y = branch(x, sublayer, seed, function);
  return norm_first_ ? x + y : sublayer.norm(add_residual(y, x));
}

at::Tensor TransformerBlockImpl::memory_rows(const BlockContext& context) {
  if (context.memory == nullptr || context.memory->rows() == 0) {
    return {};
  }
  const at::Tensor rows = context.memory->rows(static_cast<std::size_t>(layer_));
  return norm_first_ ? attention_norm(rows) : rows;  // as the rows of x
}

at::Tensor TransformerBlockImpl::compression_loss(const at::Tensor& x, const at::Tensor& old, const at::Tensor& fresh) {
  if (!norm_first_) {
    return reconstruction_loss(*attention, x, old, fresh);
  }
  // The norm learns from the task alone, as do the projections behind it.
  const auto seen = [&](const at::Tensor& rows) {
    return at::layer_norm(rows, {rows.size(-1)}, attention_norm->weight.detach(), attention_norm->bias.detach(),
                          norm_eps_);
  };
  return reconstruction_loss(*attention, seen(x), seen(old), seen(fresh));
}

void TransformerBlockImpl::remember(const at::Tensor& rows, attention::AttentionState& state) {
  attention->remember(norm_first_ ? attention_norm(rows) : rows, state);
}

at::Tensor TransformerBlockImpl::forward_packed(const at::Tensor& x, const BlockContext& context) {
  const std::uint64_t seed = context.attention.seed;
  const std::int64_t count = attention->latents();
  const at::Tensor latents = x.narrow(1, 0, count);
  const at::Tensor text = x.narrow(1, count, x.size(1) - count);
  at::Tensor packed = pack->forward(norm_first_ ? pack_norm(latents) : latents,
                                    reading(norm_first_ ? attention_norm(text) : text, context.attention));
  at::Tensor hidden = residual(text, {attention_norm, kAttentionSite}, seed,
                               [&](const at::Tensor& y) { return attention->forward(y, context, packed); });
  hidden = residual(hidden, {feed_forward_norm, kFeedForwardSite}, seed,
                    [&](const at::Tensor& y) { return feed_forward->forward(y); });
  // Last, because without gradients the sum is written into what was packed.
  const at::Tensor latents_behind =
      residual(latents, {pack_norm, kPackSite}, seed, [&](const at::Tensor&) { return packed; });
  return at::cat({latents_behind, hidden}, 1);
}

at::Tensor TransformerBlockImpl::forward_global(const at::Tensor& x, const BlockContext& context) {
  const std::uint64_t seed = context.attention.seed;
  const std::int64_t count = context.attention.beside;
  const std::int64_t length = x.size(1) - count;
  const at::Tensor globals = x.narrow(1, 0, count);
  const at::Tensor text = x.narrow(1, count, length);
  const at::Tensor seen = norm_first_ ? at::cat({global_attention_norm(globals), attention_norm(text)}, 1) : x;
  const at::Tensor mixed = attention->forward(seen, context);
  const Sublayer of_globals{global_attention_norm, kGlobalAttentionSite};
  const at::Tensor rows =
      at::cat({residual(globals, of_globals, seed, [&](const at::Tensor&) { return mixed.narrow(1, 0, count); }),
               residual(text, {attention_norm, kAttentionSite}, seed,
                        [&](const at::Tensor&) { return mixed.narrow(1, count, length); })},
              1);
  return residual(rows, {feed_forward_norm, kFeedForwardSite}, seed,
                  [&](const at::Tensor& y) { return feed_forward->forward(y); });
}

at::Tensor TransformerBlockImpl::forward(const at::Tensor& x, const BlockContext& context) {
  if (pack) {
    return forward_packed(x, context);
  }
  if (global_attention_norm) {
    return forward_global(x, context);
  }
  const std::uint64_t seed = context.attention.seed;
  const at::Tensor before = memory_rows(context);
  at::Tensor hidden = residual(x, {attention_norm, kAttentionSite}, seed,
                               [&](const at::Tensor& y) { return attention->forward(y, context, before); });
  if (cross_attention) {
    hidden = residual(hidden, {cross_attention_norm, kCrossAttentionSite}, seed,
                      [&](const at::Tensor& y) { return cross_attention->forward(y, context); });
  }
  return residual(hidden, {feed_forward_norm, kFeedForwardSite}, seed,
                  [&](const at::Tensor& y) { return feed_forward->forward(y); });
}

at::Tensor TransformerBlockImpl::attention_branch(const at::Tensor& x, const BlockContext& context) {
  const at::Tensor before = memory_rows(context);
  return branch(x, {attention_norm, kAttentionSite}, context.attention.seed,
                [&](const at::Tensor& y) { return attention->forward(y, context, before); });
}

at::Tensor TransformerBlockImpl::feed_forward_branch(const at::Tensor& x, const BlockContext& context) {
  return branch(x, {feed_forward_norm, kFeedForwardSite}, context.attention.seed,
                [&](const at::Tensor& y) { return feed_forward->forward(y); });
}

}  // namespace weft::layers
