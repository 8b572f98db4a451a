// SPDX-License-Identifier: Apache-2.0
// The same comparisons as kernels/row_positions.h, for all pairs at once.
#include "weft/attention/row_positions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>

#include "weft/core/error.h"
#include "weft/kernels/arguments.h"

namespace weft::attention {
namespace {

void check_one(const char* name, at::Tensor& positions, at::IntArrayRef sizes, const at::Device& device) {
  require(positions.defined() && positions.scalar_type() == at::kInt && positions.layout() == at::kStrided &&
              positions.device() == device,
          "attention: positions of ", name, " must be a dense int32 tensor on ", device, ", found ", [&] {
            return positions.defined()
                       ? concat(positions.scalar_type(), " (", positions.layout(), ") on ", positions.device())
                       : "none";
          });
  const auto fits = [&](std::int64_t dimension) {
    return positions.size(dimension) == sizes[static_cast<std::size_t>(dimension)] || positions.size(dimension) == 1;
  };
  require(positions.dim() == 3 && fits(0) && fits(1) && positions.size(2) == sizes[2], "attention: positions of ", name,
          " must be [batch or 1, heads or 1, length] of ", sizes, ", found ", positions.sizes());
  positions = positions.expand(sizes);
}

}  // namespace

void check_positions(Call& call) {
  RowPositions& positions = call.positions;
  if (!positions.queries.defined()) {
    require(!positions.keys.defined() && !positions.first.defined(),
            "attention: positions of keys need those of queries");
    return;
  }
  require(!call.distances.scores.defined(),
          "attention: give row positions or a distance table (or slopes), not both: distances are those of places");
  const std::int64_t queries[] = {call.query.size(0), call.query.size(1), call.query.size(2)};
  check_one("queries", positions.queries, queries, call.query.device());
  check_one("keys", positions.keys, {call.key.size(0), call.key.size(1), call.key.size(2)}, call.query.device());
  if (positions.first.defined()) {
    check_one("the first keys in sight", positions.first, queries, call.query.device());
  }
}

PairPositions pair_positions(const RowPositions& positions) {
  const at::Tensor& queries = positions.queries;
  const at::Tensor& keys = positions.keys;
  const at::Tensor before = positions.first.defined() ? keys < positions.first.clamp_min(0) : keys < 0;
  const at::Tensor hidden = positions.causal ? before.logical_or(keys > queries) : before;
  return {hidden, positions.not_self ? keys == queries : at::Tensor()};
}

at::Tensor with_own_scores(const at::Tensor& scores, const at::Tensor& own) {
  return own.defined() ? at::where(own, scores * 0.0 + static_cast<double>(kernels::kOwnScore), scores) : scores;
}

}  // namespace weft::attention
