// SPDX-License-Identifier: Apache-2.0
// Uniform rows are strided views of the flat tensor: for a window, neighbouring rows overlap and nothing is copied.
// Other rows are gathered block by block.
#include "weft/attention/backends/blocks/access.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

namespace weft::attention {
namespace {

// What a view of a flat tensor covers: `products` runs of `tokens` tokens, `step` tokens apart, from `start`.
struct Span {
  std::int64_t products;
  std::int64_t tokens;
  std::int64_t step;
  std::int64_t start;
};

at::Tensor strided(const at::Tensor& flat, const HeadRun& heads, const Span& span) {
  const std::int64_t length = flat.size(1);
  const std::int64_t columns = flat.size(2);
  return flat.as_strided({span.products, heads.count(), span.tokens, columns},
                         {span.step * columns, length * columns, columns, 1},
                         flat.storage_offset() + (heads.begin * length + span.start) * columns);
}

Span query_span(const Piece& piece) {
  const std::int64_t tile = piece.layout->tile.query;
  return {piece.products(), piece.query_tokens(), piece.rows->query_step * tile, piece.query_block(0) * tile};
}

Span key_span(const Piece& piece) {
  const std::int64_t tile = piece.layout->tile.key;
  return {piece.products(), piece.key_tokens(), piece.rows->key_step * tile, piece.first_key_block(0) * tile};
}

// The heads of a piece by blocks: [heads, blocks, tile * columns].
at::Tensor by_blocks(const at::Tensor& flat, const HeadRun& heads, std::int64_t tile) {
  return flat.narrow(0, heads.begin, heads.count()).view({heads.count(), flat.size(1) / tile, tile * flat.size(2)});
}

at::Tensor query_index(const Piece& piece, const at::Tensor& like) {
  at::Tensor index = at::empty({piece.count}, at::kLong);
  for (std::int64_t row = 0; row < piece.count; ++row) {
    index.mutable_data_ptr<std::int64_t>()[row] = piece.query_block(row);
  }
  return index.to(like.device());
}

at::Tensor key_index(const Piece& piece, const at::Tensor& like) {
  const std::int64_t width = piece.rows->width;
  at::Tensor index = at::empty({piece.count * width}, at::kLong);
  auto* out = index.mutable_data_ptr<std::int64_t>();
  for (std::int64_t row = 0; row < piece.count; ++row) {
    const std::int32_t* keys = piece.layout->key_block.data() + piece.block_begin(row);
    out = std::copy(keys, keys + width, out);
  }
  return index.to(like.device());
}

}  // namespace

at::Tensor select_queries(const at::Tensor& flat, const Piece& piece) {
  if (piece.rows->uniform) {
    return strided(flat, piece.heads, query_span(piece));
  }
  const std::int64_t tile = piece.layout->tile.query;
  return by_blocks(flat, piece.heads, tile)
      .index_select(1, query_index(piece, flat))
      .view({piece.heads.count(), piece.count, tile, flat.size(2)})
      .transpose(0, 1);
}

void store_queries(const at::Tensor& flat, const Piece& piece, const at::Tensor& values) {
  if (piece.rows->uniform) {
    strided(flat, piece.heads, query_span(piece)).copy_(values);
    return;
  }
  at::Tensor target = by_blocks(flat, piece.heads, piece.layout->tile.query);
  target.index_copy_(
      1, query_index(piece, flat),
      values.to(flat.scalar_type()).transpose(0, 1).reshape({piece.heads.count(), piece.count, target.size(2)}));
}

at::Tensor select_keys(const at::Tensor& flat, const Piece& piece) {
  if (piece.rows->uniform) {
    return strided(flat, piece.heads, key_span(piece));
  }
  return by_blocks(flat, piece.heads, piece.layout->tile.key)
      .index_select(1, key_index(piece, flat))
      .view({piece.heads.count(), piece.count, piece.key_tokens(), flat.size(2)})
      .transpose(0, 1);
}

at::Tensor select_key_bias(const at::Tensor& flat, const Piece& piece) {
  Piece row = piece;
  row.heads.begin = piece.heads.begin / piece.layout->heads;
  row.heads.end = row.heads.begin + 1;
  return select_keys(flat.unsqueeze(-1), row).transpose(2, 3);
}

void add_keys(const at::Tensor& flat, const Piece& piece, const at::Tensor& values) {
  if (!piece.rows->uniform) {
    at::Tensor target = by_blocks(flat, piece.heads, piece.layout->tile.key);
    const std::int64_t blocks = piece.count * piece.rows->width;
    target.index_add_(
        1, key_index(piece, flat),
        values.to(flat.scalar_type()).transpose(0, 1).reshape({piece.heads.count(), blocks, target.size(2)}));
    return;
  }
  // Rows overlap, so they are added one after another.
  Span span = key_span(piece);
  span.products = 1;
  for (std::int64_t row = 0; row < piece.products(); ++row) {
    strided(flat, piece.heads, span).add_(values.narrow(0, row, 1));
    span.start += span.step;
  }
}

}  // namespace weft::attention
