// SPDX-License-Identifier: Apache-2.0
// A tile of queries at a time: its scores with the keys of its blocks, the softmax of whole rows, and pooling first
// inside each block, which is one pass over memory, then between blocks.
#include "weft/attention/profile/head_picture.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "weft/core/error.h"

namespace weft::attention {
namespace {

std::int64_t missing_columns(std::int64_t columns, std::int64_t tile_key) {
  return (tile_key - columns % tile_key) % tile_key;
}

// Places in [0, count) of the queries of a tile that a picture asks for, and where they stand.
struct AskedRows {
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> positions;
};

AskedRows asked_rows(const PictureRequest& request, const ScoredCall& call, std::int64_t query_block) {
  const pattern::BlockLayout& layout = call.layout->blocks();
  const std::int64_t first = query_block * layout.tile.query;
  AskedRows asked;
  for (std::int64_t query = first; query < std::min(first + layout.tile.query, layout.query_length); ++query) {
    const std::int64_t position = call.positions[static_cast<std::size_t>(query)];
    if (position >= request.query_begin && position < request.query_end && is_kept(call.query_keep, 0, query)) {
      asked.rows.push_back(query - first);
      asked.positions.push_back(position);
    }
  }
  return asked;
}

// int64 [columns of whole blocks]: the keys of a tile's columns. A column behind the last key counts as that.
at::Tensor keys_of_columns(const TileScores& tiles, std::int64_t tile_key) {
  std::vector<at::Tensor> keys;
  for (const KeyRun& run : tiles.runs()) {
    keys.push_back(at::arange(run.first, run.first + run.keys));
  }
  const std::int64_t last = tiles.runs().back().first + tiles.runs().back().keys - 1;
  keys.push_back(at::full({missing_columns(tiles.columns(), tile_key)}, last, at::kLong));
  return at::cat(keys);
}

}  // namespace

PictureOfHead::PictureOfHead(const PictureRequest& request) : request_(request) {
  require(request.cell >= 1 && std::has_single_bit(static_cast<std::uint64_t>(request.cell)),
          "attention: a cell must be a power of two, found ", request.cell);
  require(request.head >= 0 && request.query_begin >= 0 && request.query_begin % request.cell == 0 &&
              request.query_begin < request.query_end && request.keys >= 1 && request.top >= 0,
          "attention: a picture needs queries and keys, found queries ", request.query_begin, " to ", request.query_end,
          " in cells of ", request.cell, " and ", request.keys, " keys");
  const auto cells = [&](std::int64_t length) { return (length + request.cell - 1) / request.cell; };
  const std::int64_t rows = request.query_end - request.query_begin;
  const std::vector<std::int64_t> shape = {cells(rows), cells(request.keys)};
  sums_.mean = at::zeros(shape);
  sums_.largest = at::zeros(shape);
  sums_.edges = at::zeros(shape, at::kLong);
  sums_.top_key = at::full({rows, request.top}, -1, at::kLong);
  sums_.top_weight = at::zeros({rows, request.top});
  sums_.key = at::zeros({request.keys}, at::kDouble);
}

void PictureOfHead::add(const ScoredCall& call) {
  const at::NoGradGuard no_gradient;
  require(call.query.size(0) == 1 && request_.head < call.query.size(1) && call.key.size(2) <= request_.keys,
          "attention: head ", request_.head, " of one text with up to ", request_.keys,
          " keys is asked for; the call has queries ", call.query.sizes(), " and keys ", call.key.sizes());
  const auto tile_key = std::int64_t{call.layout->blocks().tile.key};
  require(std::max(request_.cell, tile_key) % std::min(request_.cell, tile_key) == 0, "attention: cells of ",
          request_.cell, " keys and tiles of ", tile_key, " do not fit into each other");
  TileScores tiles(call, request_.head);
  for (std::int64_t block = 0; block < call.layout->blocks().query_blocks(); ++block) {
    const AskedRows asked = asked_rows(request_, call, block);
    const at::Tensor scores = asked.rows.empty() ? at::Tensor() : tiles.of(0, block);
    if (scores.defined()) {
      add_rows(at::tensor(asked.positions, at::kLong) - request_.query_begin,
               scores.index_select(0, at::tensor(asked.rows, at::kLong)), keys_of_columns(tiles, tile_key), tile_key);
    }
  }
}

// row: int64 [rows]; keys: int64 [columns of whole blocks], of which `scores` [rows, keys] may lack some of the last.
void PictureOfHead::add_rows(const at::Tensor& row, const at::Tensor& found, const at::Tensor& keys,
                             std::int64_t tile_key) {
  if (!found.isfinite().all().item<bool>()) {
    fail(ErrorKind::kNumeric, "attention: a score is NaN or infinite; the model or its input holds such a number");
  }
  const at::Tensor scores = at::constant_pad_nd(found, {0, keys.size(0) - found.size(1)}, kNoEdge);
  const at::Tensor edges = scores > kLeastScore;
  const at::Tensor p = scores.softmax(-1).mul_(edges);  // zeros in a row without an edge
  sums_.key.index_add_(0, keys, p.sum(0).to(at::kDouble));
  const std::int64_t in_block = std::min(request_.cell, tile_key);
  const auto pooled = [&](const at::Tensor& tensor) {
    return tensor.unflatten(-1, {tensor.size(-1) / in_block, in_block});
  };
  add_cells(row.floor_divide(request_.cell), keys.reshape({-1, in_block}).select(-1, 0), pooled(p),
            pooled(edges.to(at::kInt)));
  add_top(row, keys, p);
}

// p and edges [rows, parts of blocks, positions], keys [parts].
void PictureOfHead::add_cells(const at::Tensor& row_cell, const at::Tensor& keys, const at::Tensor& p,
                              const at::Tensor& edges) {
  const at::Tensor key_cell = keys.floor_divide(request_.cell);
  const auto add_to = [&](at::Tensor& sums, const at::Tensor& parts) {
    at::Tensor wide = at::zeros({parts.size(0), sums.size(1)}, sums.options());
    sums.index_add_(0, row_cell, wide.index_add_(1, key_cell, parts.to(sums.scalar_type())));
  };
  add_to(sums_.mean, p.sum(-1));
  add_to(sums_.edges, edges.sum(-1));
  at::Tensor wide = at::zeros({p.size(0), sums_.largest.size(1)});
  wide.scatter_reduce_(1, key_cell.expand({p.size(0), -1}), p.amax(-1).to(at::kFloat), "amax");
  sums_.largest.scatter_reduce_(0, row_cell.unsqueeze(1).expand_as(wide), wide, "amax");
}

void PictureOfHead::add_top(const at::Tensor& row, const at::Tensor& keys, const at::Tensor& p) {
  const std::int64_t top = std::min(request_.top, p.size(1));
  if (top == 0) {
    return;
  }
  const auto [weights, columns] = p.topk(top);
  const at::Tensor named = keys.index_select(0, columns.flatten()).reshape(columns.sizes());
  sums_.top_key.narrow(1, 0, top).index_copy_(0, row, named.masked_fill(weights == 0, -1));
  sums_.top_weight.narrow(1, 0, top).index_copy_(0, row, weights.to(at::kFloat));
}

HeadPicture PictureOfHead::finished() const {
  HeadPicture picture = sums_;
  picture.mean = sums_.mean / sums_.edges.clamp_min(1);
  return picture;
}

std::int64_t cell_size(std::int64_t length, std::int64_t cells) {
  const std::int64_t needed = (std::max<std::int64_t>(length, 1) + cells - 1) / cells;
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(needed)));
}

}  // namespace weft::attention
