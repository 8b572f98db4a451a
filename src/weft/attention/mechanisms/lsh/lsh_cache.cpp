// SPDX-License-Identifier: Apache-2.0
// Places by a sort of all tokens, for each new one; then one softmax over the keys there.
#include "weft/attention/mechanisms/lsh/lsh_cache.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>

#include "weft/attention/mechanisms/lsh/lsh_rounds.h"
#include "weft/attention/tensors.h"
#include "weft/kernels/arguments.h"

namespace weft::attention {
namespace {

/// Where each round's numbers begin, `buckets` apart: [1, 1, R, 1], or as many texts as `buckets` has.
at::Tensor first_numbers(const at::Tensor& buckets, std::int64_t rounds) {
  return at::arange(rounds, buckets.options()).view({1, 1, -1, 1}) * buckets;
}

/// Positions that the last token sees: int64 [B, H, R, keys].
at::Tensor seen_positions(const at::Tensor& numbers, const CacheRules& rules) {
  const std::int64_t tokens = numbers.size(3);
  const at::Tensor order = at::argsort(numbers, true, -1, false);
  const at::Tensor place = order.eq(tokens - 1).to(at::kLong).argmax(-1, true);
  const at::Tensor first = (place.floor_divide(rules.chunk) - rules.left) * rules.chunk;
  const at::Tensor near = at::arange((rules.left + 1 + rules.right) * rules.chunk, numbers.options());
  return order.gather(3, (first + near).remainder(tokens));
}

at::Tensor all_positions(const at::Tensor& rows) {
  return at::arange(rows.size(2), rows.options().dtype(at::kLong))
      .view({1, 1, 1, -1})
      .expand({rows.size(0), rows.size(1), 1, -1});
}

}  // namespace

at::Tensor numbers_of_prompt(const at::Tensor& buckets, const CacheRules& rules) {
  const bool padded = buckets.size(3) > rules.chunk && buckets.size(3) % rules.multiple != 0;
  const at::Tensor apart = at::full({1, 1, 1, 1}, rules.buckets + (padded ? 1 : 0), buckets.options());
  return buckets + first_numbers(apart, rules.rounds);
}

at::Tensor numbers_behind(const at::Tensor& before, const at::Tensor& buckets, const CacheRules& rules) {
  at::Tensor all = before;
  for (std::int64_t i = 0; i < buckets.size(3); ++i) {
    const at::Tensor most = all.amax({1, 2, 3}, true);
    const at::Tensor apart = most.gt(rules.rounds * rules.buckets - 1).to(at::kLong) + rules.buckets;
    all = at::cat({all, buckets.narrow(3, i, 1) + first_numbers(apart, rules.rounds)}, 3);
  }
  return all.narrow(3, before.size(3), buckets.size(3));
}

at::Tensor last_row_from_cache(const at::Tensor& rows, const at::Tensor& value, const at::Tensor& numbers,
                               const CacheRules& rules) {
  const at::Tensor seen =
      (numbers.defined() ? seen_positions(numbers, rules) : all_positions(rows)).flatten(2);  // [B, H, R keys]
  const auto taken = [&](const at::Tensor& tensor) {
    const at::Tensor places = seen.unsqueeze(-1).expand({-1, -1, -1, tensor.size(3)});
    return tensor.gather(2, places).to(accumulation_type(tensor));
  };
  const std::int64_t own = rows.size(2) - 1;
  const at::Tensor near = taken(rows);
  const at::Tensor query = rows.select(2, own).to(near.scalar_type()).unsqueeze(-1);
  const at::Tensor scores = at::matmul(near * key_factor(near), query)
                                .squeeze(-1)
                                .masked_fill(seen.eq(own), static_cast<double>(kernels::kOwnScore));
  return at::matmul(at::softmax(scores, -1).unsqueeze(2), taken(value)).to(value.scalar_type());
}

}  // namespace weft::attention
