// SPDX-License-Identifier: Apache-2.0
// Long rows in blocks that see three blocks of keys; q . E for all labels at once, and a look-up for each pair.
#include "weft/layers/etc/global_local_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/core/error.h"
#include "weft/layers/dropout.h"

namespace weft::layers {
namespace {

constexpr double kLabelDeviation = 0.5;
constexpr double kNoEdge = -1e30;  // beside any score its exp is 0 in float32 and float64

/// Queries, keys and values [B, H, rows, D] in the dtype of sums; queries are divided by sqrt(D).
struct Projected {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  at::Tensor by_label;  ///< what a label adds to a score, [B, H, rows, labels]
};

at::Tensor without_padding(const at::Tensor& rows, const at::Tensor& keep) {
  return keep.defined() ? rows.masked_fill(keep.logical_not().unsqueeze(-1), 0.0) : rows;
}

Projected project(Linear& layer, const at::Tensor& rows, const at::Tensor& table, const at::Tensor& bias) {
  const std::int64_t heads = table.size(1);
  const at::Tensor all = layer(rows);
  const at::ScalarType type = all.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const std::vector<at::Tensor> parts =
      all.to(type).unflatten(-1, {3, heads, -1}).permute({2, 0, 3, 1, 4}).unbind(0);  // [B, H, rows, D]
  const double scale = 1.0 / std::sqrt(static_cast<double>(table.size(2)));
  const at::Tensor query = parts[0] * scale;
  const at::Tensor by_label =
      at::matmul(query, table.to(type).permute({1, 2, 0})) + (bias.to(type) * scale).t().unsqueeze(1);
  return {query, parts[1], parts[2], by_label};
}

/// Labels of the distances key - query, int64.
at::Tensor distance_labels(const at::Tensor& distance, std::int64_t most) {
  const at::Tensor clipped = distance.clamp(-most, most);
  return at::where(clipped < 0, most - clipped, clipped);
}

/// What the label adds to each pair of a row [..., queries, labels] -> [..., queries, keys]; index [queries, keys].
at::Tensor look_up(const at::Tensor& by_label, const at::Tensor& index) {
  std::vector<std::int64_t> sizes = by_label.sizes().vec();
  sizes.back() = index.size(1);
  return at::gather(by_label, -1, index.expand(sizes));
}

/// The label `number` of the last three for every pair of a row.
at::Tensor last_label(const at::Tensor& by_label, std::int64_t number) {
  return by_label.narrow(-1, by_label.size(-1) - 3 + number, 1);
}

/// What a long and a global token add: own bool [B, queries, keys].
at::Tensor by_sentence(const at::Tensor& by_label, const at::Tensor& own) {
  return at::where(own.unsqueeze(1), last_label(by_label, 1), last_label(by_label, 0));
}

/// Probabilities; 0 where `edges` (broadcast) is false, also in rows without an edge.
at::Tensor probabilities(const at::Tensor& scores, const at::Tensor& edges, double dropout, std::uint64_t seed) {
  const at::Tensor none = edges.logical_not();
  const at::Tensor weights = at::softmax(scores.masked_fill(none, kNoEdge), -1).masked_fill(none, 0.0);
  return dropout > 0.0 ? seeded_dropout(weights, dropout, seed) : weights;
}

/// Which pairs of a long and a global token belong together, bool [B, N, G].
at::Tensor own_pairs(const GlobalLocalStructure& structure, std::int64_t batch, std::int64_t tokens,
                     std::int64_t globals, const at::Device& device) {
  const at::Tensor numbers = at::arange(globals, at::TensorOptions(device).dtype(at::kLong));
  at::Tensor own = at::zeros({batch, tokens, globals}, at::TensorOptions(device).dtype(at::kBool));
  for (const at::Tensor& ids : {structure.sentence, structure.paragraph, structure.linked}) {
    if (ids.defined()) {
      own = own.logical_or(ids.unsqueeze(-1) == numbers);
    }
  }
  return own;
}

at::Tensor all_or(const at::Tensor& keep, std::int64_t batch, std::int64_t rows, const at::Device& device) {
  return keep.defined() ? keep : at::ones({batch, rows}, at::TensorOptions(device).dtype(at::kBool));
}

/// Windows of three blocks: [B, H, blocks * size, D] -> [B, H, blocks, 3 size, D], zeros beyond the ends.
at::Tensor windows(const at::Tensor& rows, std::int64_t size) {
  return at::constant_pad_nd(rows, {0, 0, size, size}).unfold(2, 3 * size, size).transpose(-1, -2);
}

void check_global_local(const GlobalLocalRows& x, const GlobalLocalStructure& structure, std::int64_t width) {
  for (const at::Tensor& rows : {x.tokens, x.globals}) {
    require(rows.dim() == 3 && rows.size(1) > 0 && rows.size(2) == width && rows.is_floating_point() &&
                rows.size(0) == x.tokens.size(0),
            "global-local attention of width ", width, " takes floating rows [batch, tokens, ", width,
            "] of one batch, at least one token and one global token, found ", x.tokens.sizes(), " and ",
            x.globals.sizes());
  }
  check_structure(structure, x.tokens.size(0), x.tokens.size(1), x.globals.size(1));
}

/// What both kinds of rows need beside their projections.
struct Pairs {
  at::Tensor own;          // bool [B, N, G]
  at::Tensor keep;         // bool [B, N]
  at::Tensor global_keep;  // bool [B, G]
  const GlobalLocalStructure& structure;
  double dropout = 0.0;
  std::uint64_t seed = 0;
};

/// Long rows [B, H, N, D].
at::Tensor long_rows(const Projected& tokens, const Projected& globals, const Pairs& pairs,
                     const GlobalLocalConfig& config) {
  const std::int64_t length = tokens.query.size(2);
  const std::int64_t size = std::min(config.radius, length);
  const std::int64_t behind = (size - length % size) % size;
  const auto whole = [&](const at::Tensor& rows) { return at::constant_pad_nd(rows, {0, 0, 0, behind}); };
  const auto blocks = [&](const at::Tensor& rows) { return whole(rows).unflatten(2, {-1, size}); };
  const at::TensorOptions numbers = at::TensorOptions(tokens.query.device()).dtype(at::kLong);
  const at::Tensor distance =
      at::arange(-size, 2 * size, numbers).unsqueeze(0) - at::arange(size, numbers).unsqueeze(1);  // [size, 3 size]
  const at::Tensor seen = at::constant_pad_nd(pairs.keep, {size, size + behind}).unfold(1, 3 * size, size);
  at::Tensor window_edges =
      seen.unsqueeze(2).logical_and(distance.abs() <= config.radius);  // [B, blocks, size, 3 size]
  if (pairs.structure.segment.defined()) {
    const at::Tensor padded = at::constant_pad_nd(pairs.structure.segment, {size, size + behind});
    const at::Tensor of_queries = padded.narrow(1, size, length + behind).unflatten(1, {-1, size}).unsqueeze(-1);
    window_edges = window_edges.logical_and(of_queries == padded.unfold(1, 3 * size, size).unsqueeze(2));
  }
  const at::Tensor in_window = at::matmul(blocks(tokens.query), windows(whole(tokens.key), size).transpose(-1, -2)) +
                               look_up(blocks(tokens.by_label), distance_labels(distance, config.max_distance));
  const at::Tensor to_globals =
      at::matmul(tokens.query, globals.key.transpose(-1, -2)) + by_sentence(tokens.by_label, pairs.own);
  at::Tensor global_edges = pairs.global_keep.unsqueeze(1).expand_as(pairs.own);
  global_edges = config.hard_long_to_global ? global_edges.logical_and(pairs.own) : global_edges;
  const auto full = [&](const at::Tensor& edges) {
    std::vector<std::int64_t> sizes = in_window.sizes().vec();
    sizes[1] = 1;
    sizes.back() = edges.size(-1);
    return edges.expand(sizes);
  };
  const at::Tensor edges = at::cat({full(window_edges.unsqueeze(1)), full(blocks(global_edges.unsqueeze(1)))}, -1);
  const at::Tensor weights =
      probabilities(at::cat({in_window, blocks(to_globals)}, -1), edges, pairs.dropout, dropout_seed(pairs.seed, 0, 1));
  const at::Tensor of_globals = weights.narrow(-1, 3 * size, pairs.own.size(-1)).flatten(2, 3);
  const at::Tensor of_window = at::matmul(weights.narrow(-1, 0, 3 * size), windows(whole(tokens.value), size));
  return (of_window.flatten(2, 3) + at::matmul(of_globals, globals.value)).narrow(2, 0, length);
}

/// Global rows [B, H, G, D].
at::Tensor global_rows(const Projected& tokens, const Projected& globals, const Pairs& pairs,
                       const GlobalLocalConfig& config) {
  const std::int64_t count = globals.query.size(2);
  const at::TensorOptions numbers = at::TensorOptions(globals.query.device()).dtype(at::kLong);
  const at::Tensor order = at::arange(count, numbers);
  const at::Tensor distance = order.unsqueeze(0) - order.unsqueeze(1);
  const at::Tensor own = pairs.own.transpose(1, 2);  // [B, G, N]
  at::Tensor of_pairs = look_up(globals.by_label, distance_labels(distance, config.max_distance));
  if (const at::Tensor& segment = pairs.structure.global_segment; segment.defined()) {
    const at::Tensor same = segment.unsqueeze(2) == segment.unsqueeze(1);
    of_pairs = at::where(same.unsqueeze(1), of_pairs, last_label(globals.by_label, 2));
  }
  const at::Tensor to_globals = at::matmul(globals.query, globals.key.transpose(-1, -2)) + of_pairs;
  const at::Tensor to_tokens =
      at::matmul(globals.query, tokens.key.transpose(-1, -2)) + by_sentence(globals.by_label, own);
  at::Tensor token_edges = pairs.keep.unsqueeze(1).expand_as(own);
  if (config.hard_global_to_long) {
    const at::Tensor allowed =
        pairs.structure.sees_all.defined() ? own.logical_or(pairs.structure.sees_all.unsqueeze(-1)) : own;
    token_edges = token_edges.logical_and(allowed);
  }
  const at::Tensor edges =
      at::cat({pairs.global_keep.unsqueeze(1).expand({-1, count, -1}), token_edges}, -1).unsqueeze(1);
  const at::Tensor weights =
      probabilities(at::cat({to_globals, to_tokens}, -1), edges, pairs.dropout, dropout_seed(pairs.seed, 0, 2));
  return at::matmul(weights.narrow(-1, 0, count), globals.value) +
         at::matmul(weights.narrow(-1, count, own.size(-1)), tokens.value);
}

at::Tensor joined(Linear& layer, const at::Tensor& rows, at::ScalarType type, const at::Tensor& keep) {
  return without_padding(layer(rows.transpose(1, 2).flatten(2).to(type)), keep);
}

}  // namespace

GlobalLocalAttentionImpl::GlobalLocalAttentionImpl(const GlobalLocalConfig& config, const at::TensorOptions& options)
    : config_(config) {
  require(
      config.hidden_size > 0 && config.heads > 0 && config.head_dim > 0 && config.radius > 0 && config.max_distance > 0,
      "global-local attention needs a width, heads, columns of a head, a radius and a largest distance of at least "
      "1, found ",
      config.hidden_size, ", ", config.heads, ", ", config.head_dim, ", ", config.radius, " and ", config.max_distance);
  const std::int64_t columns = config.heads * config.head_dim;
  const auto in = [&] { return Linear(config.hidden_size, 3 * columns, true, options); };
  const auto out = [&] { return Linear(columns, config.hidden_size, true, options); };
  query_key_value = register_module("query_key_value", in());
  output = register_module("output", out());
  if (!config.shared_projections) {
    global_query_key_value = register_module("global_query_key_value", in());
  }
  if (!config.shared_output) {
    global_output = register_module("global_output", out());
  }
  const std::int64_t count = relative_labels(config.max_distance);
  const auto table = [&](const char* name) {
    return register_parameter(name, at::empty({count, config.heads, config.head_dim}, options));
  };
  const auto bias = [&](const char* name) {
    return register_parameter(name, at::empty({count, config.heads}, options));
  };
  labels = table("labels");
  label_bias = bias("label_bias");
  global_labels = table("global_labels");
  global_label_bias = bias("global_label_bias");
  const at::NoGradGuard without_gradients;
  for (at::Tensor* tensor : {&labels, &global_labels}) {
    tensor->normal_(0.0, kLabelDeviation);
  }
  label_bias.zero_();
  global_label_bias.zero_();
}

GlobalLocalRows GlobalLocalAttentionImpl::forward(const GlobalLocalRows& x, const GlobalLocalStructure& structure,
                                                  std::uint64_t seed) {
  check_global_local(x, structure, config_.hidden_size);
  const Projected tokens = project(query_key_value, without_padding(x.tokens, structure.keep), labels, label_bias);
  Linear& of_globals = config_.shared_projections ? query_key_value : global_query_key_value;
  const Projected globals =
      project(of_globals, without_padding(x.globals, structure.global_keep), global_labels, global_label_bias);
  const std::int64_t batch = x.tokens.size(0);
  const at::Device device = x.tokens.device();
  const Pairs pairs{.own = own_pairs(structure, batch, x.tokens.size(1), x.globals.size(1), device),
                    .keep = all_or(structure.keep, batch, x.tokens.size(1), device),
                    .global_keep = all_or(structure.global_keep, batch, x.globals.size(1), device),
                    .structure = structure,
                    .dropout = is_training() ? config_.dropout : 0.0,
                    .seed = seed};
  Linear& global_out = config_.shared_output ? output : global_output;
  return {
      joined(output, long_rows(tokens, globals, pairs, config_), x.tokens.scalar_type(), structure.keep),
      joined(global_out, global_rows(tokens, globals, pairs, config_), x.globals.scalar_type(), structure.global_keep)};
}

}  // namespace weft::layers
