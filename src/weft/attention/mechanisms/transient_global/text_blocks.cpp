// SPDX-License-Identifier: Apache-2.0
// Whole blocks are summed in place; the few tokens behind the last one are added to it.
#include "weft/attention/mechanisms/transient_global/text_blocks.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/minimum.h>

#include "weft/attention/mechanisms/row_lengths.h"

namespace weft::attention {
namespace {

/// int64 [1, N]: the block that each token lies in, whole or not.
at::Tensor natural_blocks(const at::Tensor& like, std::int64_t length, std::int64_t size) {
  return at::arange(length, at::TensorOptions(like.device()).dtype(at::kLong)).div(size, "floor").unsqueeze(0);
}

}  // namespace

TextBlocks text_blocks(const AttentionContext& context, const at::Tensor& rows, std::int64_t size) {
  const std::int64_t length = rows.size(1);
  TextBlocks blocks;
  blocks.size = size;
  blocks.count = length / size;
  const at::Tensor natural = natural_blocks(rows, length, size);
  const at::Tensor kept = kept_keys(context, rows.unsqueeze(1));
  if (!kept.defined()) {
    blocks.of_token = natural.clamp_max(blocks.count - 1);
    return blocks;
  }
  const at::Tensor last_tokens =
      kept.narrow(1, 0, blocks.count * size).unflatten(1, {blocks.count, size}).select(2, -1);
  const at::Tensor last_block = last_tokens.sum(1, true) - 1;  // [B, 1]
  blocks.of_token = at::minimum(natural, last_block).masked_fill(kept.logical_not(), -1);
  const at::Tensor numbers = at::arange(blocks.count, natural.options());
  blocks.exists = numbers.unsqueeze(0) <= std::get<0>(blocks.of_token.max(1, true));
  return blocks;
}

at::Tensor TextBlocks::sums(const at::Tensor& rows) const {
  const std::int64_t length = rows.size(1);
  const at::Tensor natural = natural_blocks(rows, length, size);
  const at::Tensor stays = of_token == natural;  // [B or 1, N]
  const at::Tensor clean = exists.defined() ? rows.masked_fill(stays.logical_not().unsqueeze(-1), 0.0) : rows;
  at::Tensor whole = clean.narrow(1, 0, count * size).unflatten(1, {count, size}).sum(2);
  // Tokens that belong to an earlier block than the one that they lie in.
  const at::Tensor moved = stays.logical_not().logical_and(of_token >= 0).expand({rows.size(0), -1}).nonzero();
  if (moved.size(0) == 0) {
    return whole;
  }
  const at::Tensor row = moved.select(1, 0);
  const at::Tensor token = moved.select(1, 1);
  const at::Tensor block = of_token.expand({rows.size(0), -1}).flatten().index_select(0, row * length + token);
  const at::Tensor added = rows.flatten(0, 1).index_select(0, row * length + token);
  return whole.flatten(0, 1).index_add(0, row * count + block, added).view_as(whole);
}

}  // namespace weft::attention
