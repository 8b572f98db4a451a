// SPDX-License-Identifier: Apache-2.0
// Projections around attention/mechanisms/etc/etc_rows.h.
#include "support/layers/global_local_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <vector>

#include "weft/attention/accumulation.h"
#include "weft/core/error.h"

namespace weft::testing {
namespace {

using attention::EtcPairs;
using attention::EtcRows;
using layers::Linear;

constexpr double kLabelDeviation = 0.5;

at::Tensor without_padding(const at::Tensor& rows, const at::Tensor& keep) {
  return keep.defined() ? rows.masked_fill(keep.logical_not().unsqueeze(-1), 0.0) : rows;
}

/// Queries, keys and values [B, H, rows, D] in the dtype of sums.
EtcRows project(Linear& layer, const at::Tensor& rows, const at::Tensor& table, const at::Tensor& bias) {
  const at::Tensor all = layer(rows);
  const std::vector<at::Tensor> parts =
      attention::at_least_float(all).unflatten(-1, {3, table.size(1), -1}).permute({2, 0, 3, 1, 4}).unbind(0);
  return attention::etc_rows(parts[0], parts[1], parts[2], table, bias);
}

void check_global_local(const GlobalLocalRows& x, const EtcStructure& structure, std::int64_t width) {
  for (const at::Tensor& rows : {x.tokens, x.globals}) {
    require(rows.dim() == 3 && rows.size(1) > 0 && rows.size(2) == width && rows.is_floating_point() &&
                rows.size(0) == x.tokens.size(0),
            "global-local attention of width ", width, " takes floating rows [batch, tokens, ", width,
            "] of one batch, at least one token and one global token, found ", x.tokens.sizes(), " and ",
            x.globals.sizes());
  }
  check_structure(structure, x.tokens.size(0), x.tokens.size(1), x.globals.size(1));
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
  const std::int64_t count = attention::relative_labels(config.max_distance);
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

GlobalLocalRows GlobalLocalAttentionImpl::forward(const GlobalLocalRows& x, const EtcStructure& structure,
                                                  const DropoutSeed& seed) {
  check_global_local(x, structure, config_.hidden_size);
  const EtcRows tokens = project(query_key_value, without_padding(x.tokens, structure.keep), labels, label_bias);
  Linear& of_globals = config_.shared_projections ? query_key_value : global_query_key_value;
  const EtcRows globals =
      project(of_globals, without_padding(x.globals, structure.global_keep), global_labels, global_label_bias);
  EtcPairs pairs = attention::etc_pairs(structure, tokens, globals);
  pairs.dropout = is_training() ? config_.dropout : 0.0;
  pairs.seed = seed;
  const attention::EtcShape shape{config_.radius, config_.max_distance, config_.hard_global_to_long,
                                  config_.hard_long_to_global};
  Linear& global_out = config_.shared_output ? output : global_output;
  return {
      joined(output, long_rows(tokens, globals, pairs, shape), x.tokens.scalar_type(), structure.keep),
      joined(global_out, global_rows(tokens, globals, pairs, shape), x.globals.scalar_type(), structure.global_keep)};
}

}  // namespace weft::testing
