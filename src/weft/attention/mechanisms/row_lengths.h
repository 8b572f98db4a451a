// SPDX-License-Identifier: Apache-2.0
// Padding of a call as masks: `key_keep` and the lengths that its rows have of their own, for mechanisms that multiply
// whole tensors and lay out no blocks.
#pragma once

#include <optional>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>

#include "weft/attention/context.h"
#include "weft/core/error.h"

namespace weft::attention {

using RowLength = std::optional<std::int64_t> pattern::RowBinding::*;

/// bool [B, N] for the positions of `like` [B, H, N, D] from `first` on, false beyond the length that a row has;
/// undefined where none has one. Errors: kArgument where there are not as many rows as in the batch.
inline at::Tensor within_lengths(const std::vector<pattern::RowBinding>& rows, RowLength length, const at::Tensor& like,
                                 std::int64_t first = 0) {
  std::vector<std::int64_t> ends;
  bool differ = false;
  for (const pattern::RowBinding& row : rows) {
    ends.push_back((row.*length).value_or(first + like.size(2)));
    differ = differ || (row.*length).has_value();
  }
  if (!differ) {
    return {};
  }
  require(std::ssize(ends) == like.size(0), "attention: lengths of ", ends.size(), " rows for a batch of ",
          like.size(0));
  const auto options = at::TensorOptions(like.device()).dtype(at::kLong);
  return at::arange(first, first + like.size(2), options).unsqueeze(0) <
         at::tensor(ends).to(like.device()).unsqueeze(1);
}

/// bool [B, K] for keys at positions from `first` on, or undefined: all.
inline at::Tensor kept_keys(const AttentionContext& context, const at::Tensor& key, std::int64_t first = 0) {
  const at::Tensor within = within_lengths(context.rows, &pattern::RowBinding::key_length, key, first);
  return within.defined() && context.key_keep.defined() ? within & context.key_keep
         : within.defined()                             ? within
                                                        : context.key_keep;
}

/// bool [B, Q] for the queries of a call, counted from 0 in every call, or undefined: all.
inline at::Tensor kept_queries(const AttentionContext& context, const at::Tensor& query) {
  return within_lengths(context.rows, &pattern::RowBinding::query_length, query);
}

}  // namespace weft::attention
