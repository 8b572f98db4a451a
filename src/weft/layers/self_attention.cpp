// SPDX-License-Identifier: Apache-2.0
// Multi-head self-attention.
#include "weft/layers/self_attention.h"

#include <tuple>

#include "weft/attention/global_projection.h"
#include "weft/attention/pattern_attention.h"
#include "weft/core/random.h"
#include "weft/layers/split_heads.h"

namespace weft::layers {
namespace {

bool asks_for_input(const attention::AttentionImpl& mechanism) {
  const auto* pattern = dynamic_cast<const attention::PatternAttention*>(&mechanism);
  return pattern != nullptr && pattern->pattern().needs_input();
}

}  // namespace

SelfAttentionImpl::SelfAttentionImpl(const BlockConfig& config, const at::TensorOptions& options)
    : config_(config),
      mechanism_(register_module("mechanism", attention::make_attention(config.attention, site_of(config)))),
      needs_input_(asks_for_input(*mechanism_)) {
  if (!config.short_attention.empty()) {
    short_mechanism_ =
        register_module("short_mechanism", attention::make_attention(config.short_attention, site_of(config)));
  }
  const std::int64_t fused = (config.heads + 2 * config.key_value_heads) * config.head_dim();
  qkv = register_module("qkv", Linear(config.hidden_size, fused, config.qkv_bias, options));
  output = register_module("output", Linear(config.hidden_size, config.hidden_size, true, options));
  if (config.global_projection) {
    global_qkv = register_module("global_qkv", Linear(config.hidden_size, 3 * config.hidden_size, true, options));
  }
}

std::string SelfAttentionImpl::description(bool short_input) const {
  return short_input && short_mechanism_ ? short_mechanism_->description() : mechanism_->description();
}

at::Tensor SelfAttentionImpl::with_globals(const at::Tensor& mixed, const at::Tensor& x,
                                           const attention::AttentionContext& context) {
  if (!global_qkv || !needs_input_ || context.rows.empty()) {
    return mixed;
  }
  const auto part = [&](std::int64_t which) {
    const std::int64_t width = config_.hidden_size;
    return attention::LinearWeights{global_qkv->weight.narrow(0, which * width, width),
                                    global_qkv->bias.narrow(0, which * width, width)};
  };
  attention::AttentionOptions options;
  options.key_keep = context.key_keep;
  if (is_training() && config_.attention_dropout > 0) {
    options.dropout = config_.attention_dropout;
    options.seed = random_bits(context.seed, static_cast<std::uint64_t>(config_.layer));
  }
  return attention::with_global_rows(mixed, x, context.rows, {part(0), part(1), part(2), config_.heads}, options);
}

at::Tensor SelfAttentionImpl::forward(const at::Tensor& x, const BlockContext& context) {
  // [B, N, (H + 2 H_kv) D] -> query [B, H, N, D], key and value [B, H_kv, N, D].
  Heads heads = split_heads(qkv(x), {config_.heads, config_.key_value_heads}, context.rotation);
  if (context.cache != nullptr) {
    // Keys go into the cache with their rotation, which depends on their own position only.
    std::tie(heads.key, heads.value) = context.cache->append(config_.layer, heads.key, heads.value);
  }
  attention::AttentionImpl& mechanism = context.short_input && short_mechanism_ ? *short_mechanism_ : *mechanism_;
  at::Tensor mixed = mechanism.forward(heads.query, heads.key, heads.value, context.attention);  // [B, H, N, D]
  mixed = with_globals(mixed, x, context.attention);
  if (context.query_keep.defined()) {
    mixed = mixed * context.query_keep.to(mixed.scalar_type()).unsqueeze(1).unsqueeze(-1);
  }
  // [B, H, N, D] -> [B, N, H D]
  return output(mixed.transpose(1, 2).reshape(x.sizes()));
}

}  // namespace weft::layers
