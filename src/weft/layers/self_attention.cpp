// SPDX-License-Identifier: Apache-2.0
// Multi-head self-attention.
#include "weft/layers/self_attention.h"

#include <tuple>

#include "weft/layers/split_heads.h"

namespace weft::layers {

SelfAttentionImpl::SelfAttentionImpl(const BlockConfig& config, const at::TensorOptions& options)
    : layer_(config.layer),
      heads_(config.heads),
      key_value_heads_(config.key_value_heads),
      mechanism_(register_module("mechanism", attention::make_attention(config.attention, site_of(config)))) {
  const std::int64_t fused = (heads_ + 2 * key_value_heads_) * config.head_dim();
  qkv = register_module("qkv", Linear(config.hidden_size, fused, true, options));
  output = register_module("output", Linear(config.hidden_size, config.hidden_size, true, options));
}

at::Tensor SelfAttentionImpl::forward(const at::Tensor& x, const BlockContext& context) {
  // [B, N, (H + 2 H_kv) D] -> query [B, H, N, D], key and value [B, H_kv, N, D].
  Heads heads = split_heads(qkv(x), {heads_, key_value_heads_}, context.rotation);
  if (context.cache != nullptr) {
    // Keys go into the cache with their rotation, which depends on their own position only.
    std::tie(heads.key, heads.value) = context.cache->append(layer_, heads.key, heads.value);
  }
  const at::Tensor mixed = mechanism_->forward(heads.query, heads.key, heads.value, context.attention);  // [B, H, N, D]
  // [B, H, N, D] -> [B, N, H D]
  return output(mixed.transpose(1, 2).reshape(x.sizes()));
}

}  // namespace weft::layers
