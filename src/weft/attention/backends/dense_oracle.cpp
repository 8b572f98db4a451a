// SPDX-License-Identifier: Apache-2.0
// The oracle: no layout, no blocks, one multiplicity a pair of positions, and plain autograd. Shares no code with the
// paths that it judges, but the dropout draws that are part of the contract.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>

#include "weft/attention/attention.h"
#include "weft/attention/backends/blocks/dropout_mask.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

// The site of one batch row, with its positions sorted.
struct RowSite {
  RowSite(const pattern::Site& base, const pattern::RowBinding& row) : input(row.input), site(base) {
    std::sort(input.begin(), input.end());
    input.erase(std::unique(input.begin(), input.end()), input.end());
    site.input = input;
    site.query_length = row.query_length.value_or(base.query_length);
    site.key_length = row.key_length.value_or(base.key_length);
  }
  std::vector<std::int64_t> input;
  pattern::Site site;
};

// Log multiplicities [H, Q, K] of one row of the batch; -infinity for no edge.
void fill_bias(const pattern::Pattern& pattern, pattern::Site site, const at::Tensor& bias) {
  bias.fill_(-kInfinity);
  for (site.head = 0; site.head < site.heads; ++site.head) {
    const at::Tensor head = bias[site.head];
    auto values = head.accessor<double, 2>();
    for (std::int64_t query = 0; query < site.query_length; ++query) {
      for (std::int64_t key = 0; key < site.key_length; ++key) {
        values[query][key] = std::log(static_cast<double>(pattern.multiplicity(site, query, key)));
      }
    }
  }
}

// [B or 1, H, Q, K].
at::Tensor bias_of(const OracleSite& edges) {
  const pattern::Site& site = edges.site;
  const std::int64_t count = std::max<std::int64_t>(1, static_cast<std::int64_t>(edges.rows.size()));
  const at::Tensor bias = at::empty({count, site.heads, site.query_length, site.key_length}, at::kDouble);
  if (edges.rows.empty()) {
    fill_bias(edges.pattern, site, bias[0]);
  }
  for (std::size_t row = 0; row < edges.rows.size(); ++row) {
    fill_bias(edges.pattern, RowSite(site, edges.rows[row]).site, bias[static_cast<std::int64_t>(row)]);
  }
  return bias;
}

// Distances from query to key [Q, K], and those alone that `is_taken(position of the query, key)`; zero elsewhere.
template <typename Condition>
at::Tensor distances_where(const pattern::Site& site, const Condition& is_taken) {
  const at::Tensor distances = at::zeros({site.query_length, site.key_length}, at::kDouble);
  auto values = distances.accessor<double, 2>();
  for (std::int64_t query = 0; query < site.query_length; ++query) {
    for (std::int64_t key = 0; key < site.key_length; ++key) {
      const std::int64_t position = query + site.query_offset;
      values[query][key] = is_taken(position, key) ? std::abs(static_cast<double>(key - position)) : 0.0;
    }
  }
  return distances;
}

// What the distances of positions take away: [H, Q, K].
at::Tensor bias_of_slopes(const pattern::Site& site, const at::Tensor& slopes) {
  const at::Tensor rows = slopes.to(at::kDouble).view({-1, site.heads, 1, 1});
  const auto is_first = [&](std::int64_t position, std::int64_t key) {
    return rows.size(0) > 2 && (position == 0) != (key == 0);
  };
  const auto left = distances_where(site, [&](auto query, auto key) { return key < query && !is_first(query, key); });
  const auto right = distances_where(site, [&](auto query, auto key) { return key > query && !is_first(query, key); });
  const at::Tensor bias = rows[0] * left + rows[rows.size(0) > 1 ? 1 : 0] * right;
  return -(rows.size(0) > 2 ? bias + rows[2] * distances_where(site, is_first) : bias);
}

// The entry of each pair: [H, Q, K].
at::Tensor bias_of_table(const pattern::Site& site, const DistanceTable& table) {
  const at::Tensor scores = table.scores.to(at::kDouble);
  const std::int64_t span = scores.size(-1);
  const at::Tensor places = at::empty({site.query_length, site.key_length}, at::kLong);
  auto values = places.accessor<std::int64_t, 2>();
  for (std::int64_t query = 0; query < site.query_length; ++query) {
    for (std::int64_t key = 0; key < site.key_length; ++key) {
      const std::int64_t position = query + site.query_offset;
      const bool is_second = scores.dim() == 3 && scores.size(1) == 2 && (position == 0) != (key == 0);
      values[query][key] = std::clamp<std::int64_t>(position - key + table.zero, 0, span - 1) + (is_second ? span : 0);
    }
  }
  return scores.reshape({site.heads, -1})
      .index_select(1, places.view({-1}))
      .view({site.heads, site.query_length, site.key_length});
}

// Pairs [B, H, Q, K] by their positions, of queries [.., Q, 1] and keys [.., 1, K].
struct PositionPairs {
  PositionPairs(const RowPositions& given, std::int64_t group)
      : query(given.queries.to(at::kLong).unsqueeze(-1)),
        key(given.keys.to(at::kLong).repeat_interleave(given.keys.size(1) > 1 ? group : 1, 1).unsqueeze(2)) {}
  at::Tensor hidden(const RowPositions& given) const {
    at::Tensor result = (key < 0).logical_or(at::zeros_like(query, at::kBool));
    result = given.first.defined() ? result.logical_or(given.first.unsqueeze(-1) > key) : result;
    return given.causal ? result.logical_or(query < key) : result;
  }
  at::Tensor query;
  at::Tensor key;
};

}  // namespace

at::Tensor dense_oracle(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                        const OracleSite& edges, const AttentionOptions& options) {
  const pattern::Site& site = edges.site;
  require(query.scalar_type() == at::kDouble && query.is_cpu(),
          "dense_oracle: query must be float64 on the CPU, found ", query.scalar_type(), " on ", query.device());
  require(site.heads == query.size(1) && site.query_length == query.size(2) && site.key_length == key.size(2),
          "dense_oracle: the site has ", site.heads, " heads, ", site.query_length, " queries and ", site.key_length,
          " keys, the tensors ", query.sizes(), " and ", key.sizes());
  at::Tensor bias = bias_of(edges);
  if (options.key_keep.defined()) {
    bias = bias.masked_fill(options.key_keep.logical_not().unsqueeze(1).unsqueeze(1), -kInfinity);
  }
  if (options.slopes.defined()) {
    bias = bias + bias_of_slopes(site, options.slopes);
  }
  if (options.distances.scores.defined()) {
    bias = bias + bias_of_table(site, options.distances);
  }
  const std::int64_t group = query.size(1) / key.size(1);
  const at::Tensor keys = key.repeat_interleave(group, 1);
  const at::Tensor scale =
      at::scalar_tensor(options.scale.value_or(1.0 / std::sqrt(double(query.size(3)))), at::kDouble);
  at::Tensor products = at::matmul(query, keys.transpose(2, 3)) * scale;
  if (options.positions.queries.defined()) {
    const PositionPairs pairs(options.positions, group);
    bias = bias.masked_fill(pairs.hidden(options.positions), -kInfinity);
    products = options.positions.not_self ? products.masked_fill(pairs.query == pairs.key, -1e5) : products;
  }
  const at::Tensor no_edge = bias == -kInfinity;
  // A row without edges would be NaN through softmax: it is given scores first and zeros afterwards.
  const at::Tensor empty = no_edge.all(-1, true);
  const at::Tensor scores = (products + bias).masked_fill(no_edge, -kInfinity).masked_fill(empty, 0.0);
  at::Tensor probabilities = at::softmax(scores, -1).masked_fill(empty, 0.0);
  if (options.dropout > 0) {
    const kernels::Dropout dropout{static_cast<float>(options.dropout), options.seed, 0};
    probabilities = probabilities * dense_dropout_mask(dropout, probabilities.sizes());
  }
  return at::matmul(probabilities, value.repeat_interleave(group, 1));
}

}  // namespace weft::attention
