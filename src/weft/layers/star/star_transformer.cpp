// SPDX-License-Identifier: Apache-2.0
// Five keys a satellite: sums over columns in place of products of matrices.
#include "weft/layers/star/star_transformer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <torch/nn/modules/container/modulelist.h>

#include <cmath>
#include <limits>
#include <string>

#include "weft/core/error.h"
#include "weft/core/work/pieces.h"
#include "weft/layers/replay/recompute.h"

namespace weft::layers {
namespace {

/// Keys and values [B, N, H, D].
struct StarKeys {
  at::Tensor keys;
  at::Tensor values;
};

StarKeys star_keys(StarAttention& attention, const at::Tensor& x, std::int64_t heads) {
  const std::vector<at::Tensor> halves = attention->key_value(x).unflatten(-1, {2 * heads, -1}).chunk(2, -2);
  return {halves[0], halves[1]};
}

at::Tensor without_rows(const at::Tensor& tensor, const at::Tensor& hidden_rows) {
  return hidden_rows.defined() ? tensor.masked_fill(hidden_rows.view({tensor.size(0), tensor.size(1), 1, 1}), 0.0)
                               : tensor;
}

/// Row i of the result is row i + shift (1 or -1), zeros beyond the ends.
at::Tensor neighbours(const at::Tensor& rows, std::int64_t shift) {
  const at::Tensor padded = at::constant_pad_nd(rows, {0, 0, 0, 0, 1, 1});
  return padded.narrow(1, 1 + shift, rows.size(1));
}

/// softmax over the entries of `seen`, each a key and a value for every query [B, N, H, D] -> [B, N, H D]. Sums are in
/// float32 for half types.
at::Tensor attend_to_few(const at::Tensor& queries, const std::vector<StarKeys>& seen) {
  const at::ScalarType type = queries.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor scaled = queries.to(type) / std::sqrt(static_cast<double>(queries.size(-1)));
  std::vector<at::Tensor> scores;
  scores.reserve(seen.size());
  for (const StarKeys& one : seen) {
    scores.push_back((scaled * one.keys).sum(-1));
  }
  const at::Tensor weights = at::softmax(at::stack(scores, -1), -1);  // [B, N, H, seen]
  at::Tensor sum;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const at::Tensor part = weights.narrow(-1, static_cast<std::int64_t>(i), 1) * seen[i].values;
    sum = sum.defined() ? sum + part : part;
  }
  return sum.to(queries.scalar_type()).flatten(2);
}

/// Both kinds of nodes [B, 1 + N, hidden], the relay first: what runs again in a backward pass keeps one tensor.
at::Tensor joined_nodes(const StarNodes& nodes) { return at::cat({nodes.relay.unsqueeze(1), nodes.satellites}, 1); }

StarNodes parted_nodes(const at::Tensor& both) { return {both.narrow(1, 1, both.size(1) - 1), both.select(1, 0)}; }

/// A layer in two parts that run again, so that a relay that nobody reads learns nothing, as without.
StarNodes recomputed(StarLayer layer, const StarNodes& nodes, const at::Tensor& tokens, const at::Tensor& hidden_rows) {
  std::vector<at::Tensor> leaves = layer->ring->parameters();
  leaves.insert(leaves.end(), {layer->norm->weight, layer->norm->bias, tokens});
  const auto ring = [layer, tokens, hidden_rows](const at::Tensor& before) mutable {
    return layer->next_satellites(parted_nodes(before), tokens, hidden_rows);
  };
  const at::Tensor satellites = recompute(ring, joined_nodes(nodes), leaves);
  const auto relay = [layer, hidden_rows](const at::Tensor& before) mutable {
    return layer->next_relay(parted_nodes(before), hidden_rows);
  };
  return {satellites, recompute(relay, joined_nodes({satellites, nodes.relay}), layer->relay->parameters())};
}

}  // namespace

StarAttentionImpl::StarAttentionImpl(const StarConfig& config, const at::TensorOptions& options) {
  const std::int64_t columns = config.heads * config.head_dim;
  query = register_module("query", Linear(config.hidden_size, columns, true, options));
  key_value = register_module("key_value", Linear(config.hidden_size, 2 * columns, true, options));
  output = register_module("output", Linear(columns, config.hidden_size, true, options));
}

StarLayerImpl::StarLayerImpl(const StarConfig& config, const at::TensorOptions& options)
    : norm(register_module("norm", LayerNorm(config.hidden_size, config.layer_norm_eps, options))),
      ring(register_module("ring", StarAttention(config, options))),
      relay(register_module("relay", StarAttention(config, options))),
      heads_(config.heads) {}

at::Tensor StarLayerImpl::next_satellites(const StarNodes& nodes, const at::Tensor& embeddings,
                                          const at::Tensor& hidden_rows) {
  const at::Tensor x = norm(nodes.satellites);
  const at::Tensor queries = ring->query(x).unflatten(-1, {heads_, -1});
  StarKeys own = star_keys(ring, x, heads_);
  own = {without_rows(own.keys, hidden_rows), without_rows(own.values, hidden_rows)};
  const auto beside = [&own](std::int64_t shift) {
    return StarKeys{neighbours(own.keys, shift), neighbours(own.values, shift)};
  };
  const at::Tensor satellites = at::leaky_relu(
      ring->output(attend_to_few(queries, {beside(-1), own, beside(1), star_keys(ring, embeddings, heads_),
                                           star_keys(ring, nodes.relay.unsqueeze(1), heads_)})));
  return hidden_rows.defined() ? satellites.masked_fill(hidden_rows.unsqueeze(-1), 0.0) : satellites;
}

at::Tensor StarLayerImpl::next_relay(const StarNodes& nodes, const at::Tensor& hidden_rows) {
  const at::Tensor& before = nodes.relay;
  const at::Tensor all = joined_nodes({nodes.satellites.to(before.scalar_type()), before});
  const StarKeys seen = star_keys(relay, all, heads_);
  const at::Tensor queries = relay->query(before).unflatten(-1, {heads_, -1}).unsqueeze(1);  // [B, 1, H, D]
  const at::ScalarType type = queries.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor scores = (queries.to(type) * seen.keys).sum(-1) / std::sqrt(static_cast<double>(queries.size(-1)));
  if (hidden_rows.defined()) {
    const at::Tensor hidden = at::constant_pad_nd(hidden_rows, {1, 0});  // the relay itself is seen
    scores = scores.masked_fill(hidden.unsqueeze(-1), -std::numeric_limits<double>::infinity());
  }
  const at::Tensor sum = (at::softmax(scores, 1).unsqueeze(-1) * seen.values).sum(1);  // [B, H, D]
  return at::leaky_relu(relay->output(sum.to(queries.scalar_type()).flatten(1)));
}

StarNodes StarLayerImpl::forward(const StarNodes& nodes, const at::Tensor& embeddings, const at::Tensor& hidden_rows) {
  const at::Tensor satellites = next_satellites(nodes, embeddings, hidden_rows);
  return {satellites, next_relay({satellites, nodes.relay}, hidden_rows)};
}

StarTransformerImpl::StarTransformerImpl(const StarConfig& config, const at::TensorOptions& options)
    : width_(config.hidden_size) {
  require(config.hidden_size > 0 && config.heads > 0 && config.head_dim > 0 && config.layers > 0,
          "a Star-Transformer needs a width, heads, columns of a head and layers of at least 1, found ",
          config.hidden_size, ", ", config.heads, ", ", config.head_dim, " and ", config.layers);
  const auto list = register_module("layers", torch::nn::ModuleList());
  for (std::int64_t i = 0; i < config.layers; ++i) {
    layers_.emplace_back(config, options);
    list->push_back(layers_.back());
  }
}

StarNodes StarTransformerImpl::forward(const at::Tensor& embeddings, const at::Tensor& keep, bool recompute) {
  require(
      embeddings.dim() == 3 && embeddings.size(1) > 0 && embeddings.size(2) == width_ && embeddings.is_floating_point(),
      "a Star-Transformer of width ", width_, " takes floating embeddings [batch, tokens, ", width_, "], found ",
      embeddings.scalar_type(), ' ', embeddings.sizes());
  require(!keep.defined() || (keep.scalar_type() == at::kBool && keep.sizes() == embeddings.sizes().slice(0, 2)),
          "a Star-Transformer takes a mask bool ", embeddings.sizes().slice(0, 2), ", found ",
          keep.defined() ? keep.scalar_type() : at::kBool, ' ', keep.defined() ? keep.sizes() : at::IntArrayRef());
  const at::Tensor hidden_rows = keep.defined() ? keep.logical_not() : keep;
  const at::Tensor tokens = keep.defined() ? embeddings.masked_fill(hidden_rows.unsqueeze(-1), 0.0) : embeddings;
  const at::Tensor mean =
      keep.defined() ? tokens.sum(1) / keep.sum(1, true).clamp_min(1).to(tokens.scalar_type()) : tokens.mean(1);
  StarNodes nodes{tokens, mean};
  for (StarLayer& layer : layers_) {
    nodes = recompute ? recomputed(layer, nodes, tokens, hidden_rows) : layer(nodes, tokens, hidden_rows);
    end_piece(tokens.size(0) * tokens.size(1));
  }
  return nodes;
}

}  // namespace weft::layers
