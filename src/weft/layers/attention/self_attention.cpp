// SPDX-License-Identifier: Apache-2.0
// Queries, keys and values of one text.
#include "weft/layers/attention/self_attention.h"

#include <ATen/ops/cat.h>

#include <utility>

namespace weft::layers {

SelfAttentionImpl::SelfAttentionImpl(const BlockConfig& config, const at::TensorOptions& options)
    : SelfAttentionImpl(config, attention::make_attention(config.attention, site_of(config), options), options) {}

SelfAttentionImpl::SelfAttentionImpl(const BlockConfig& config, std::shared_ptr<attention::AttentionImpl> mechanism,
                                     const at::TensorOptions& options)
    : config_(config), mechanism_(register_module("mechanism", std::move(mechanism))) {
  const std::int64_t columns = config.heads * config.head_dim();
  if (mechanism_->spec().projections == attention::Projections::kSharedQueryKey) {
    query_key = register_module("query_key", Linear(config.hidden_size, columns, config.qkv_bias, options));
    value = register_module("value", Linear(config.hidden_size, columns, config.qkv_bias, options));
  } else {
    const std::int64_t fused = columns + 2 * config.key_value_heads * config.head_dim();
    qkv = register_module("qkv", Linear(config.hidden_size, fused, config.qkv_bias, options));
  }
  output = register_module("output", Linear(columns, config.hidden_size, config.output_bias, options));
  if (has_companions()) {
    global_output = register_module("global_output", Linear(columns, config.hidden_size, config.output_bias, options));
  }
}

std::string SelfAttentionImpl::description() const { return mechanism_->description(); }

at::Tensor SelfAttentionImpl::attend(const Heads& heads, const at::Tensor&, const BlockContext& context) {
  if (context.state == nullptr) {
    return mechanism_->forward(heads.query, heads.key, heads.value, context.attention);
  }
  // Keys are remembered with their rotation, which depends on their own position only.
  return mechanism_->step(heads.query, heads.key, heads.value, context.attention, context.state->layer(config_.layer));
}

Heads SelfAttentionImpl::heads_of(const at::Tensor& x, const Rotation& rotation) {
  if (qkv) {
    return split_heads(qkv(x), {config_.heads, config_.key_value_heads}, rotation);
  }
  const at::Tensor rows = split_heads(query_key(x), {config_.heads, 0}, rotation).query;
  return {rows, rows, split_heads(value(x), {config_.heads, 0}, {}).query};
}

Heads SelfAttentionImpl::keys_of(const at::Tensor& x) {
  if (!qkv) {
    return heads_of(x, {});
  }
  const std::int64_t queries = config_.heads * config_.head_dim();
  const std::int64_t rest = 2 * config_.key_value_heads * config_.head_dim();
  return split_heads(qkv->rows(queries, rest)(x), {0, config_.key_value_heads}, {});
}

Heads SelfAttentionImpl::heads_of_fixed(const at::Tensor& x) const {
  return split_heads(qkv->rows().detached()(x), {config_.heads, config_.key_value_heads}, {});
}

void SelfAttentionImpl::remember(const at::Tensor& x, attention::AttentionState& state) {
  const Heads heads = keys_of(x);
  state.append(heads.key, heads.value);
}

at::Tensor SelfAttentionImpl::projected(const at::Tensor& rows, std::int64_t companions) {
  if (!global_output) {
    return output(rows);
  }
  return at::cat(
      {global_output(rows.narrow(1, 0, companions)), output(rows.narrow(1, companions, rows.size(1) - companions))}, 1);
}

at::Tensor SelfAttentionImpl::forward(const at::Tensor& x, const BlockContext& context, const at::Tensor& memory) {
  Heads heads = heads_of(x, context.rotations.of(config_.head_dim(), config_.rope_theta));
  heads.query = with_factor(heads.query, config_.score_factor);
  if (memory.defined()) {
    const Heads before = keys_of(memory);
    heads.key = at::cat({before.key, heads.key}, 2);
    heads.value = at::cat({before.value, heads.value}, 2);
  }
  BlockContext watched;
  if (is_watched()) {
    watched = context;
    watched.attention.observer = observer();
  }
  // [B, H, N, D] -> [B, N, H D]
  return projected(attend(heads, x, is_watched() ? watched : context).transpose(1, 2).flatten(2),
                   context.attention.companions);
}

}  // namespace weft::layers
