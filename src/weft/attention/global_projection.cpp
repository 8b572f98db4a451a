// SPDX-License-Identifier: Apache-2.0
// Global queries row by row of the batch, for rows differ in how many they have. Two ways to the same numbers: project
// all keys and values, or fold the projections into the few queries and outputs; the one with fewer operations is
// taken.
#include "weft/attention/global_projection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <ATen/Parallel.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/types.h>

#include "weft/attention/accumulation.h"
#include "weft/core/error.h"
#include "weft/kernels/dropout.h"

namespace weft::attention {
namespace {

constexpr std::uint64_t kDropoutOffset = 1;  // draws of their own beside the local attention's under the same seed

/// One row of the batch: its global queries against its keys.
struct RowCall {
  at::Tensor queries;  ///< [H, G, D], scaled
  at::Tensor states;   ///< [K, M], zero at padded keys
  at::Tensor padded;   ///< bool [K], undefined when every key is kept
  at::Tensor dropout;  ///< [H, G, K] multipliers, undefined without dropout
};

std::vector<std::int64_t> sorted_positions(const pattern::RowBinding& row, std::int64_t length) {
  std::vector<std::int64_t> positions = row.input;
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  const std::int64_t end = row.query_length.value_or(length);
  for (const std::int64_t position : positions) {
    require(position >= 0 && position < end, "a global position must lie in [0, ", end, "), found ", position);
  }
  return positions;
}

LinearWeights convert(const LinearWeights& linear, at::ScalarType dtype) {
  return {linear.weight.to(dtype), linear.bias.defined() ? linear.bias.to(dtype) : at::Tensor()};
}

/// [n, H * D] -> [H, n, D]
at::Tensor split_heads(const at::Tensor& rows, std::int64_t heads) {
  return rows.view({rows.size(0), heads, -1}).transpose(0, 1);
}

/// softmax over the keys [H, G, K]; zeros where no key is kept. The lowest finite number, not -infinity: a row without
/// keys would be NaN, and its gradient too.
at::Tensor probabilities(const at::Tensor& scores, const RowCall& call) {
  at::Tensor result;
  if (call.padded.defined()) {
    result =
        scores.masked_fill(call.padded, std::numeric_limits<float>::lowest()).softmax(-1).masked_fill(call.padded, 0.0);
  } else {
    result = scores.softmax(-1);
  }
  return call.dropout.defined() ? result * call.dropout : result;
}

at::Tensor attend_projected(const RowCall& call, const GlobalProjection& projection) {
  const at::Tensor key =
      split_heads(at::linear(call.states, projection.key.weight, projection.key.bias), projection.heads);
  const at::Tensor value =
      split_heads(at::linear(call.states, projection.value.weight, projection.value.bias), projection.heads);
  return at::matmul(probabilities(at::matmul(call.queries, key.transpose(1, 2)), call), value);
}

at::Tensor attend_folded(const RowCall& call, const GlobalProjection& projection) {
  const std::int64_t heads = projection.heads;
  const std::int64_t width = call.states.size(1);
  const at::Tensor key_weight = projection.key.weight.view({heads, -1, width});      // [H, D, M]
  const at::Tensor value_weight = projection.value.weight.view({heads, -1, width});  // [H, D, M]
  at::Tensor scores = at::matmul(at::matmul(call.queries, key_weight), call.states.t());
  if (projection.key.bias.defined()) {
    scores = scores + at::matmul(call.queries, projection.key.bias.view({heads, -1, 1}));
  }
  const at::Tensor weights = probabilities(scores, call);
  at::Tensor result = at::matmul(at::matmul(weights, call.states), value_weight.transpose(1, 2));
  if (projection.value.bias.defined()) {
    result = result + weights.sum(-1, true) * projection.value.bias.view({heads, 1, -1});
  }
  return result;
}

/// Multiply-adds a key: 2 G M H folded, 2 M D H + 2 G D H projected.
bool folding_is_cheaper(std::int64_t queries, std::int64_t width, std::int64_t head_dim) {
  return queries * width < (width + queries) * head_dim;
}

/// What the rows of a call share; the projections are in the dtype that it accumulates in.
struct Inputs {
  at::Tensor hidden_states;  ///< [B, N, M]
  at::Tensor key_keep;
  GlobalProjection projection;
  double scale;
  kernels::Dropout dropout;
};

/// [H, G, K], the draws of kernels/dropout.h.
at::Tensor dropout_multipliers(const Inputs& inputs, std::int64_t row, const std::vector<std::int64_t>& positions,
                               std::int64_t keys) {
  const std::int64_t heads = inputs.projection.heads;
  const std::int64_t queries = static_cast<std::int64_t>(positions.size());
  at::Tensor result = at::empty({heads, queries, keys}, at::kDouble);
  double* multipliers = result.mutable_data_ptr<double>();
  at::parallel_for(0, heads * queries, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      kernels::DropoutRow draws(inputs.dropout, row, line / queries,
                                positions[static_cast<std::size_t>(line % queries)]);
      for (std::int64_t key = 0; key < keys; ++key) {
        multipliers[line * keys + key] = draws.multiplier(key);
      }
    }
  });
  return result.to(inputs.hidden_states.device(), inputs.projection.query.weight.scalar_type());
}

RowCall make_call(const Inputs& inputs, std::int64_t row, const std::vector<std::int64_t>& bound, std::int64_t keys) {
  const LinearWeights& linear = inputs.projection.query;
  const at::Tensor positions = at::tensor(bound, at::kLong).to(inputs.hidden_states.device());
  const at::Tensor states = inputs.hidden_states.select(0, row).to(linear.weight.scalar_type());
  const at::Tensor queries = at::linear(states.index_select(0, positions), linear.weight, linear.bias);
  RowCall call{split_heads(queries, inputs.projection.heads) * inputs.scale, states.narrow(0, 0, keys), {}, {}};
  if (inputs.key_keep.defined()) {
    call.padded = inputs.key_keep.select(0, row).narrow(0, 0, keys).logical_not();
    call.states = call.states.masked_fill(call.padded.unsqueeze(1), 0.0);
  }
  if (inputs.dropout.probability > 0.0F) {
    call.dropout = dropout_multipliers(inputs, row, bound, keys);
  }
  return call;
}

/// [G, H, D]
at::Tensor attend(const RowCall& call, const GlobalProjection& projection) {
  const bool fold = folding_is_cheaper(call.queries.size(1), call.states.size(1), call.queries.size(2));
  return (fold ? attend_folded(call, projection) : attend_projected(call, projection)).transpose(0, 1);
}

void check_linear(const LinearWeights& linear, std::int64_t outputs, std::int64_t width, const char* name) {
  require(linear.weight.defined() && linear.weight.dim() == 2 && linear.weight.size(0) == outputs &&
              linear.weight.size(1) == width,
          "the global ", name, " projection's weight must be [", outputs, ", ", width, "], found ",
          linear.weight.defined() ? linear.weight.sizes() : at::IntArrayRef());
  require(!linear.bias.defined() || (linear.bias.dim() == 1 && linear.bias.size(0) == outputs), "the global ", name,
          " projection's bias must be [", outputs, "], found ",
          linear.bias.defined() ? linear.bias.sizes() : at::IntArrayRef());
}

void check_shapes(const at::Tensor& output, const at::Tensor& hidden_states, std::size_t rows,
                  const GlobalProjection& projection, const AttentionOptions& options) {
  require(output.dim() == 4 && hidden_states.dim() == 3 && output.size(0) == hidden_states.size(0) &&
              output.size(2) == hidden_states.size(1),
          "global rows need output [B, H, N, D] and hidden states [B, N, M], found ", output.sizes(), " and ",
          hidden_states.sizes());
  require(output.size(1) == projection.heads, "the global projections have ", projection.heads,
          " heads, the output has ", output.size(1));
  require(static_cast<std::int64_t>(rows) == output.size(0), "global positions are bound for ", rows,
          " rows, the batch has ", output.size(0));
  require(!options.key_keep.defined() || options.key_keep.sizes() == hidden_states.sizes().slice(0, 2),
          "key_keep must be [", hidden_states.size(0), ", ", hidden_states.size(1), "], found ",
          options.key_keep.defined() ? options.key_keep.sizes() : at::IntArrayRef());
  const std::int64_t outputs = output.size(1) * output.size(3);
  check_linear(projection.query, outputs, hidden_states.size(2), "query");
  check_linear(projection.key, outputs, hidden_states.size(2), "key");
  check_linear(projection.value, outputs, hidden_states.size(2), "value");
  require(options.dropout >= 0.0 && options.dropout < 1.0, "dropout must lie in [0, 1), found ", options.dropout);
}

}  // namespace

at::Tensor with_global_rows(const at::Tensor& output, const at::Tensor& hidden_states,
                            std::span<const pattern::RowBinding> rows, const GlobalProjection& projection,
                            const AttentionOptions& options) {
  check_shapes(output, hidden_states, rows.size(), projection, options);
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const at::ScalarType dtype = accumulation_type(hidden_states);
  const Inputs inputs{hidden_states,
                      options.key_keep,
                      {convert(projection.query, dtype), convert(projection.key, dtype),
                       convert(projection.value, dtype), projection.heads},
                      options.scale.value_or(1.0 / std::sqrt(static_cast<double>(output.size(3)))),
                      {static_cast<float>(options.dropout), options.seed, kDropoutOffset}};
  std::vector<std::int64_t> batch_index, position_index;
  std::vector<at::Tensor> values;
  for (std::int64_t row = 0; row < output.size(0); ++row) {
    const pattern::RowBinding& binding = rows[static_cast<std::size_t>(row)];
    const std::vector<std::int64_t> bound = sorted_positions(binding, output.size(2));
    if (!bound.empty()) {
      const RowCall call = make_call(inputs, row, bound, binding.key_length.value_or(output.size(2)));
      values.push_back(attend(call, inputs.projection));
      position_index.insert(position_index.end(), bound.begin(), bound.end());
      batch_index.insert(batch_index.end(), bound.size(), row);
    }
  }
  if (values.empty()) {
    return output;
  }
  const c10::List<std::optional<at::Tensor>> index({at::tensor(batch_index, at::kLong).to(output.device()),
                                                    at::tensor(position_index, at::kLong).to(output.device())});
  return output.transpose(1, 2).index_put(index, at::cat(values).to(output.scalar_type())).transpose(1, 2);
}

}  // namespace weft::attention
