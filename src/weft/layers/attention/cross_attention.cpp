// SPDX-License-Identifier: Apache-2.0
// Queries of one text, keys of another, and the padding of both.
#include "weft/layers/attention/cross_attention.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/div.h>

#include <algorithm>

#include "weft/attention/state/state_checks.h"
#include "weft/core/error.h"
#include "weft/layers/attention/split_heads.h"
#include "weft/layers/dropout.h"

namespace weft::layers {
namespace {

/// Of dropout_seed: the probabilities of self-attention at this layer have the call's own seed.
constexpr std::int64_t kProbabilitySite = 4;

}  // namespace

Source Source::reordered(const at::Tensor& rows) const {
  attention::check_rows(rows, heads.empty() ? hidden : heads.front().key, "source");
  const auto chosen = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.index_select(0, rows) : tensor;
  };
  Source result;
  if (!padding.rows.empty()) {
    const at::Tensor order = rows.to(at::kCPU).contiguous();
    for (std::int64_t i = 0; i < order.numel(); ++i) {
      const std::int64_t row = order.const_data_ptr<std::int64_t>()[i];
      result.padding.rows.push_back(padding.rows.at(static_cast<std::size_t>(row)));
    }
  }
  result.hidden = chosen(hidden);
  result.padding.key_keep = chosen(padding.key_keep);
  for (const SourceHeads& layer : heads) {
    result.heads.push_back({chosen(layer.key), chosen(layer.value)});
  }
  result.readers = readers;
  return result;
}

CrossAttentionImpl::CrossAttentionImpl(const BlockConfig& config, const at::TensorOptions& options)
    : config_(config),
      mechanism_(register_module("mechanism",
                                 attention::make_attention(config.cross_attention, cross_site_of(config), options))) {
  const std::int64_t columns = config.heads * config.head_dim();
  const std::int64_t keys = config.key_value_heads * config.head_dim();
  query = register_module("query", Linear(config.hidden_size, columns, config.qkv_bias, options));
  key_value = register_module("key_value", Linear(config.hidden_size, 2 * keys, config.qkv_bias, options));
  output = register_module("output", Linear(columns, config.hidden_size, config.output_bias, options));
}

SourceHeads CrossAttentionImpl::project(const at::Tensor& hidden) {
  const Heads heads = split_heads(key_value(hidden), {0, config_.key_value_heads}, {});
  return {heads.key, heads.value};
}

attention::AttentionContext CrossAttentionImpl::describe(const Source& source,
                                                         const attention::AttentionContext& target) const {
  attention::AttentionContext both;
  both.key_keep = source.padding.key_keep;
  both.query_offset = target.query_offset;
  both.observer = observer();
  both.seed = dropout_seed(target.seed, config_.layer, kProbabilitySite);
  both.rows.resize(std::max(source.padding.rows.size(), target.rows.size()));
  for (std::size_t row = 0; row < source.padding.rows.size(); ++row) {
    both.rows[row].key_length = source.padding.rows[row].key_length;
  }
  for (std::size_t row = 0; row < target.rows.size(); ++row) {
    both.rows[row].query_length = target.rows[row].query_length;
  }
  return both;
}

// x [B, N, H D] against keys of B texts.
at::Tensor CrossAttentionImpl::attend(const at::Tensor& x, const SourceHeads& heads,
                                      const attention::AttentionContext& both, CrossWeights* weights) {
  const at::Tensor queries =
      with_factor(query(x).view({x.size(0), x.size(1), config_.heads, -1}).transpose(1, 2), config_.score_factor);
  if (weights != nullptr) {
    weights->weights = mechanism_->weights(queries, heads.key, both);
  }
  const at::Tensor mixed = mechanism_->forward(queries, heads.key, heads.value, both);
  return output(mixed.transpose(1, 2).flatten(2));
}

at::Tensor CrossAttentionImpl::forward(const at::Tensor& x, const BlockContext& context) {
  require(context.source != nullptr, "cross-attention: the call has no source");
  const Source& source = *context.source;
  require(source.heads.empty() || config_.layer < std::ssize(source.heads), "cross-attention: the source has keys for ",
          source.heads.size(), " layers, but there is a layer ", config_.layer, "; encode it with this model");
  const SourceHeads heads =
      source.heads.empty() ? project(source.hidden) : source.heads[static_cast<std::size_t>(config_.layer)];
  require(heads.key.size(0) * source.readers == x.size(0), "cross-attention: the source has ", heads.key.size(0),
          " texts with ", source.readers, " readers each, the target ", x.size(0), " rows");
  const bool is_asked = context.weights != nullptr && context.weights->layer == config_.layer;
  require(!is_asked || source.readers == 1, "cross-attention: weights are given where each text has one reader, found ",
          source.readers);
  if (source.readers == 1) {
    return attend(x, heads, describe(source, context.attention), is_asked ? context.weights.get() : nullptr);
  }
  if (mechanism_->spec().ignores_query_positions && context.attention.rows.empty()) {
    const at::Tensor together = x.reshape({heads.key.size(0), source.readers * x.size(1), x.size(2)});
    return attend(together, heads, describe(source, context.attention)).view(x.sizes());
  }
  const at::Tensor rows =
      at::arange(x.size(0), at::TensorOptions(x.device()).dtype(at::kLong)).div(source.readers, "floor");
  const Source each = Source{{}, source.padding, {heads}}.reordered(rows);
  return attend(x, each.heads.front(), describe(each, context.attention));
}

}  // namespace weft::layers
