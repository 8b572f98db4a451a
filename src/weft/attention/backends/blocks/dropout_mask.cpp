// SPDX-License-Identifier: Apache-2.0
// Draws on the CPU, through the kernels' own DropoutRow, and moves the multipliers to the device of the call.
#include "weft/attention/backends/blocks/dropout_mask.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include "weft/kernels/dropout.h"

namespace weft::attention {
namespace {

struct MaskRow {
  std::int64_t product;
  std::int64_t head;
  std::int64_t query;
};

// Row `at` of a [products, heads, queries, keys] mask.
MaskRow mask_row(const at::Tensor& mask, std::int64_t at) {
  return {at / (mask.size(1) * mask.size(2)), at / mask.size(2) % mask.size(1), at % mask.size(2)};
}

void draw_row(const Piece& piece, const kernels::Dropout& dropout, const MaskRow& row, float* out) {
  const pattern::BlockLayout& layout = *piece.layout;
  const std::int64_t head = piece.heads.begin + row.head;
  const std::int64_t block_row = piece.merged ? row.query / layout.tile.query : row.product;
  const std::int64_t query = piece.query_block(block_row) * layout.tile.query + row.query % layout.tile.query;
  kernels::DropoutRow draws(dropout, head / layout.heads, head % layout.heads, query);
  const std::int32_t* key_blocks = layout.key_block.data() + piece.block_begin(block_row);
  for (std::int64_t block = 0; block < piece.rows->width; ++block) {
    for (std::int64_t key = 0; key < layout.tile.key; ++key) {
      *out++ = draws.keeps(std::int64_t{key_blocks[block]} * layout.tile.key + key) ? 1.0F : 0.0F;
    }
  }
}

}  // namespace

at::Tensor dropout_mask(const Piece& piece, const kernels::Dropout& dropout, const at::Tensor& like) {
  at::Tensor mask =
      at::empty({piece.products(), piece.heads.count(), piece.query_tokens(), piece.key_tokens()}, at::kFloat);
  auto* out = mask.mutable_data_ptr<float>();
  const std::int64_t rows = mask.size(0) * mask.size(1) * mask.size(2);
  at::parallel_for(0, rows, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) {
      draw_row(piece, dropout, mask_row(mask, at), out + at * mask.size(3));
    }
  });
  return mask.to(like.device(), like.scalar_type()).mul_(1.0 / (1.0 - double{dropout.probability}));
}

at::Tensor dense_dropout_mask(const kernels::Dropout& dropout, at::IntArrayRef sizes) {
  at::Tensor mask = at::empty(sizes, at::kDouble);
  auto* out = mask.mutable_data_ptr<double>();
  for (std::int64_t at = 0; at < sizes[0] * sizes[1] * sizes[2]; ++at) {
    const MaskRow row = mask_row(mask, at);
    kernels::DropoutRow draws(dropout, row.product, row.head, row.query);
    for (std::int64_t key = 0; key < sizes[3]; ++key) {
      *out++ = draws.multiplier(key);
    }
  }
  return mask;
}

}  // namespace weft::attention
