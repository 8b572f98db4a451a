// SPDX-License-Identifier: Apache-2.0
// Slopes become a table by LibTorch's operators, so that autograd carries the table's gradient on to them.
#include "weft/attention/distance_table.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

// Where each pair stands in [1 or 2, span] of its head: int64 [R * q * k].
at::Tensor places(const DistanceTable& table, const at::Tensor& queries, const at::Tensor& keys) {
  const std::int64_t span = table.scores.size(2);
  const at::Tensor query = queries.unsqueeze(-1);  // [R, q, 1]
  const at::Tensor key = keys.unsqueeze(1);        // [R, 1, k]
  at::Tensor place = (query - key + table.zero).clamp_(0, span - 1);
  if (table.scores.size(1) == 2) {
    place.add_((query == 0).logical_xor(key == 0), span);
  }
  return place.view({-1});
}

}  // namespace

at::Tensor alibi_slopes(std::int64_t heads) {
  require(heads > 0, "alibi_slopes: heads must be positive, found ", heads);
  at::Tensor slopes = at::empty({heads}, at::kFloat);
  auto* out = slopes.mutable_data_ptr<float>();
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  for (std::int64_t head = 0; head < heads; ++head) {
    const double exponent = head < below
                                ? 8.0 * static_cast<double>(head + 1) / static_cast<double>(below)
                                : 4.0 * static_cast<double>(2 * (head - below) + 1) / static_cast<double>(below);
    out[head] = static_cast<float>(std::exp2(-exponent));
  }
  return slopes;
}

DistanceTable table_of_slopes(const at::Tensor& slopes, const Call& call) {
  const std::int64_t heads = call.query.size(1);
  const bool fits = slopes.dim() == 1 || (slopes.dim() == 2 && slopes.size(0) >= 1 && slopes.size(0) <= 3);
  require(fits && slopes.size(-1) == heads && at::isFloatingType(slopes.scalar_type()),
          "attention: slopes must be floating [heads], [2, heads] or [3, heads] for ", heads, " heads, found ",
          slopes.scalar_type(), " ", slopes.sizes());
  require(all_finite({slopes}), "attention: slopes must be finite");
  const at::Tensor rows = slopes.to(call.query.device(), accumulation_type(call.query)).view({-1, heads, 1});
  const std::int64_t offset = call.layout->blocks().query_offset;
  const std::int64_t first = offset + 1 - std::max<std::int64_t>(call.key.size(2), 1);
  const std::int64_t end = offset + std::max<std::int64_t>(call.query.size(2), 1);
  const at::Tensor distances = at::arange(first, end, rows.options().requires_grad(false));
  const at::Tensor scores = rows[rows.size(0) > 1 ? 1 : 0] * distances.clamp_max(0) - rows[0] * distances.clamp_min(0);
  if (rows.size(0) < 3) {
    return {scores.unsqueeze(1), -first};
  }
  return {at::stack({scores, -(rows[2] * distances.abs())}, 1), -first};
}

DistanceTable table_of(const AttentionOptions& options, const Call& call) {
  const at::Tensor& given = options.distances.scores;
  require(!options.slopes.defined() || !given.defined(), "attention: give slopes or a distance table, not both");
  if (options.slopes.defined()) {
    return table_of_slopes(options.slopes, call);
  }
  if (!given.defined()) {
    return {};
  }
  require((given.dim() == 2 || given.dim() == 3) && at::isFloatingType(given.scalar_type()),
          "attention: a distance table must be floating [heads, span] or [heads, 2, span], found ", given.scalar_type(),
          " ", given.sizes());
  const at::Tensor scores = given.to(call.query.device(), accumulation_type(call.query));
  const DistanceTable table{given.dim() == 2 ? scores.unsqueeze(1) : scores, options.distances.zero};
  check_table(table, call.query);
  return table;
}

void check_table(const DistanceTable& table, const at::Tensor& query) {
  const at::Tensor& scores = table.scores;
  if (!scores.defined()) {
    return;
  }
  require(scores.dim() == 3 && scores.size(0) == query.size(1) && (scores.size(1) == 1 || scores.size(1) == 2) &&
              scores.size(2) >= 1,
          "attention: a distance table must be [heads, span] or [heads, 2, span] for ", query.size(1),
          " heads, with at least one entry a row, found ", scores.sizes());
  require(scores.scalar_type() == accumulation_type(query) && scores.device() == query.device() &&
              scores.layout() == at::kStrided,
          "attention: a distance table must be ", accumulation_type(query), " on ", query.device(), ", found ",
          scores.scalar_type(), " on ", scores.device());
  constexpr std::int64_t kLargest = std::int64_t{1} << 62;  // positions are added to it
  require(table.zero > -kLargest && table.zero < kLargest,
          "attention: the entry of distance 0 must be within 2^62 of the table, found ", table.zero);
}

at::Tensor distance_scores(const DistanceTable& table, const at::Tensor& queries, const at::Tensor& keys) {
  const at::Tensor entries = table.scores.flatten(1).index_select(1, places(table, queries, keys));
  return entries.view({-1, queries.size(0), queries.size(1), keys.size(1)}).transpose(0, 1);
}

at::Tensor distance_gradient(const DistanceTable& table, const at::Tensor& queries, const at::Tensor& keys,
                             const at::Tensor& gradients) {
  at::Tensor sums = at::zeros(table.scores.sizes(), gradients.options());
  sums.flatten(1).index_add_(1, places(table, queries, keys), gradients.transpose(0, 1).flatten(1));
  return sums;
}

}  // namespace weft::attention
