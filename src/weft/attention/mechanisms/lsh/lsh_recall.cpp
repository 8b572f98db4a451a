// SPDX-License-Identifier: Apache-2.0
// Places of the bucket's last keys by topk, and one softmax over the keys of all rounds.
#include "weft/attention/mechanisms/lsh/lsh_recall.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

#include "weft/attention/mechanisms/lsh/lsh_rounds.h"
#include "weft/attention/tensors.h"
#include "weft/kernels/arguments.h"

namespace weft::attention {
namespace {

/// The positions of the last `window` keys of each query's buckets, -1 where there are fewer: int64 [B, H, R, Q, w].
at::Tensor last_of_bucket(const RecallCall& call) {
  const std::int64_t keys = call.rows.size(2);
  const at::Tensor position = at::arange(keys, call.buckets.options());
  const at::Tensor asking = position.narrow(0, keys - call.queries, call.queries);
  const at::Tensor own = call.buckets.narrow(3, keys - call.queries, call.queries).unsqueeze(-1);
  const at::Tensor seen = call.buckets.unsqueeze(3).eq(own) & position.lt(asking.unsqueeze(1));  // [B, H, R, Q, K]
  const at::Tensor found = position.masked_fill(seen.logical_not(), -1);
  return std::get<0>(at::topk(found, std::min(call.window, keys), -1, true, false));
}

/// tensor [B, H, K, C] at positions [B, H, R, Q, w] -> [B, H, R, Q, w, C].
at::Tensor taken_at(const at::Tensor& tensor, const at::Tensor& positions) {
  const at::Tensor flat = positions.flatten(2).unsqueeze(-1);
  at::Tensor taken = tensor.gather(2, flat.expand({-1, -1, -1, tensor.size(3)}));
  return taken.unflatten(2, positions.sizes().slice(2)).to(accumulation_type(tensor));
}

}  // namespace

at::Tensor recalled_rows(const RecallCall& call) {
  const at::Tensor before = last_of_bucket(call);
  const std::int64_t first = call.rows.size(2) - call.queries;
  const at::Tensor self = at::arange(first, first + call.queries, before.options())
                              .view({1, 1, 1, -1, 1})
                              .expand_as(before.narrow(-1, 0, 1));
  const at::Tensor hidden = at::cat({before.lt(0), at::zeros_like(self, at::kBool)}, -1);
  const at::Tensor positions = at::cat({before.clamp_min(0), self}, -1);  // [B, H, R, Q, w + 1], itself last
  const at::Tensor rows = taken_at(call.rows, positions);
  const at::Tensor keys = rows * key_factor(rows);
  const at::Tensor query = rows.select(-2, rows.size(-2) - 1).unsqueeze(-1);
  at::Tensor scores = at::matmul(keys, query).squeeze(-1).masked_fill(hidden, -kInfinity);
  const std::int64_t width = scores.size(-1);
  scores = at::cat({scores.narrow(-1, 0, width - 1),
                    at::full_like(scores.narrow(-1, 0, 1), static_cast<double>(kernels::kOwnScore))},
                   -1);
  // One softmax over rounds and keys: [B, H, Q, 1, R (w + 1)].
  const auto by_query = [](const at::Tensor& tensor) { return tensor.transpose(2, 3).flatten(3, 4); };
  const at::Tensor weights = at::softmax(by_query(scores), -1).unsqueeze(-2);
  const at::Tensor values = taken_at(call.value, positions).masked_fill(hidden.unsqueeze(-1), 0.0);
  return at::matmul(weights, by_query(values)).squeeze(-2).to(call.value.scalar_type());
}

}  // namespace weft::attention
