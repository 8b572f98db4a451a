// SPDX-License-Identifier: Apache-2.0
// A tile of queries at a time: its scores with the keys of its blocks, the softmax of whole rows, and pooling first
// inside each block, which is one pass over memory, then between blocks.
#include "weft/attention/profile/head_picture.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

// [rows, keys] of `tile_keys` columns in a row of mask bits or log multiplicities.
at::Tensor edges_of_block(const pattern::LayoutView& view, std::int32_t kind, const std::vector<std::int64_t>& rows) {
  std::vector<float> values;
  values.reserve(rows.size() * static_cast<std::size_t>(view.tile_key));
  for (const std::int64_t row : rows) {
    for (std::int64_t key = 0; key < view.tile_key; ++key) {
      if (pattern::is_weighted(kind)) {
        values.push_back(view.weight(kind)[row * view.tile_key + key]);
      } else {
        const std::uint64_t word = view.mask(kind)[row * view.words() + key / 64];
        values.push_back(((word >> (key % 64)) & 1U) != 0 ? 0.0F : -static_cast<float>(kInfinity));
      }
    }
  }
  return at::tensor(values).reshape({std::ssize(rows), view.tile_key});
}

}  // namespace

// One head's call on the CPU, in the type of its scores.
struct PictureOfHead::Head {
  at::Tensor query;           // [Q, D], scaled
  at::Tensor key;             // [D, K]
  at::Tensor hidden;          // bool [K], true for padding; undefined: none
  at::Tensor table;           // [1 or 2, span]; undefined: no scores by distance
  at::Tensor relative_query;  // [Q, D], scaled; undefined: no relative term
  at::Tensor relative_rows;   // [D, span]
  std::int64_t zero;          // of the table or the relative rows
  const pattern::BlockLayout* layout;
};

PictureOfHead::Head PictureOfHead::head_of(const MassCall& call, std::int64_t head) {
  const at::ScalarType type = accumulation_type(call.query);
  const auto plain = [&](const at::Tensor& tensor) { return tensor.detach().to(at::kCPU, type); };
  Head drawn;
  drawn.query = plain(call.query[0][head]) * call.scale;
  drawn.key = plain(call.key[0][head * call.key.size(1) / call.query.size(1)]).transpose(0, 1);
  drawn.layout = &call.layout->blocks();
  drawn.zero = call.distances.scores.defined() ? call.distances.zero : call.relative.zero;
  if (call.key_keep.defined()) {
    drawn.hidden = call.key_keep[0].to(at::kCPU).logical_not();
  }
  if (call.distances.scores.defined()) {
    const at::Tensor& scores = call.distances.scores;
    drawn.table = plain(scores.reshape({scores.size(0), -1, scores.size(-1)})[head]);
  }
  if (call.relative.query.defined()) {
    drawn.relative_query = plain(call.relative.query[0][head]) * call.scale;
    drawn.relative_rows = plain(call.relative.rows[head]).transpose(0, 1);
  }
  return drawn;
}

// Some rows of a tile beside all keys of its blocks.
class PictureOfHead::Rows {
 public:
  // `rows`: those of the tile to draw, from its first on; `positions`: where they stand.
  Rows(const Head& head, std::int64_t head_number, std::int64_t query_block, std::vector<std::int64_t> rows,
       const std::vector<std::int64_t>& positions)
      : head_(head),
        blocks_(head.layout->view().row(0, head_number, query_block)),
        rows_(std::move(rows)),
        first_(query_block * head.layout->tile.query),
        positions_(at::tensor(positions, at::kLong)) {
    std::vector<at::Tensor> keys = {at::arange(0)};
    for (std::int64_t block = blocks_.begin; block < blocks_.end; ++block) {
      const std::int64_t first =
          std::int64_t{head.layout->key_block[static_cast<std::size_t>(block)]} * head.layout->tile.key;
      keys.push_back(at::arange(first, first + head.layout->tile.key));
    }
    columns_ = at::cat(keys);
  }

  bool empty() const { return blocks_.count() == 0 || rows_.empty(); }
  const at::Tensor& positions() const { return positions_; }
  // int64 [columns]; a column behind the last key counts as that, and has no edges.
  at::Tensor keys() const { return columns_.clamp_max(head_.layout->key_length - 1); }

  // Minus infinity where there is no edge, else the logarithm of the multiplicity [rows, columns].
  at::Tensor edges() const {
    const pattern::LayoutView view = head_.layout->view();
    at::Tensor result = at::zeros({std::ssize(rows_), columns_.size(0)}, head_.query.options());
    for (std::int64_t block = blocks_.begin; block < blocks_.end; ++block) {
      const std::int32_t kind = head_.layout->kind[static_cast<std::size_t>(block)];
      if (!pattern::is_full(kind)) {
        result.narrow(1, (block - blocks_.begin) * view.tile_key, view.tile_key)
            .copy_(edges_of_block(view, kind, rows_));
      }
    }
    at::Tensor outside = columns_ >= head_.layout->key_length;
    if (head_.hidden.defined()) {
      outside = outside.logical_or(head_.hidden.index_select(0, keys()));
    }
    return result.masked_fill_(outside, -kInfinity);
  }

  at::Tensor scores() const {
    const at::Tensor rows = at::tensor(rows_, at::kLong) + first_;
    at::Tensor result = at::matmul(head_.query.index_select(0, rows), head_.key.index_select(1, keys()));
    if (head_.table.defined()) {
      result += by_table();
    }
    if (head_.relative_query.defined()) {
      result += by_relative_rows(rows);
    }
    return result;
  }

 private:
  // Entries of tables of `span` distances [rows, columns].
  at::Tensor places(std::int64_t span) const {
    return (positions_.unsqueeze(1) - columns_ + head_.zero).clamp_(0, span - 1);
  }

  at::Tensor by_table() const {
    const at::Tensor place = places(head_.table.size(1));
    const auto looked_up = [&](std::int64_t table) {
      return head_.table[table].index_select(0, place.flatten()).reshape(place.sizes());
    };
    if (head_.table.size(0) == 1) {
      return looked_up(0);
    }
    const at::Tensor with_first = (positions_ == 0).unsqueeze(1).logical_xor(columns_ == 0);
    return at::where(with_first, looked_up(1), looked_up(0));
  }

  // Only the distances that these rows and columns have.
  at::Tensor by_relative_rows(const at::Tensor& rows) const {
    const at::Tensor place = places(head_.relative_rows.size(1));
    const auto low = place.min().item<std::int64_t>();
    const auto count = place.max().item<std::int64_t>() - low + 1;
    const at::Tensor products =
        at::matmul(head_.relative_query.index_select(0, rows), head_.relative_rows.narrow(1, low, count));
    return products.gather(1, place - low);
  }

  const Head& head_;
  pattern::BlockRange blocks_;
  std::vector<std::int64_t> rows_;
  std::int64_t first_;    // of the tile
  at::Tensor positions_;  // int64 [rows]
  at::Tensor columns_;    // int64 [columns]: positions of keys, also of those behind the last
};

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

void PictureOfHead::add(const MassCall& call) {
  const at::NoGradGuard no_gradient;
  require(call.layout != nullptr && call.query.dim() == 4 && call.key.dim() == 4 && call.query.size(0) == 1 &&
              request_.head < call.query.size(1) && call.key.size(2) <= request_.keys,
          "attention: head ", request_.head, " of one text with up to ", request_.keys,
          " keys is asked for; the call has queries ", call.query.sizes(), " and keys ", call.key.sizes());
  call.layout->check(1, call.query.size(1), call.query.size(2), call.key.size(2));
  const Head head = head_of(call, request_.head);
  const std::int64_t tile = head.layout->tile.query;
  const auto tile_key = std::int64_t{head.layout->tile.key};
  require(std::max(request_.cell, tile_key) % std::min(request_.cell, tile_key) == 0, "attention: cells of ",
          request_.cell, " keys and tiles of ", tile_key, " do not fit into each other");
  const at::Tensor kept = call.query_keep.defined() ? call.query_keep[0].to(at::kCPU) : at::Tensor();
  for (std::int64_t block = 0; block < head.layout->query_blocks(); ++block) {
    std::vector<std::int64_t> rows;
    std::vector<std::int64_t> positions;
    for (std::int64_t query = block * tile; query < std::min((block + 1) * tile, head.layout->query_length); ++query) {
      const std::int64_t position =
          call.positions.empty() ? query + head.layout->query_offset : call.positions[static_cast<std::size_t>(query)];
      const bool asked = position >= request_.query_begin && position < request_.query_end;
      if (asked && (!kept.defined() || kept[query].item<bool>())) {
        rows.push_back(query - block * tile);
        positions.push_back(position);
      }
    }
    const Rows drawn(head, request_.head, block, std::move(rows), positions);
    if (!drawn.empty()) {
      add_rows(drawn, tile_key);
    }
  }
}

void PictureOfHead::add_rows(const Rows& drawn, std::int64_t tile_key) {
  const at::Tensor scores = drawn.scores().add_(drawn.edges());
  if (scores.isnan().any().item<bool>()) {
    fail(ErrorKind::kNumeric, "attention: a score is NaN; the model or its input holds such a number");
  }
  const at::Tensor p = scores.softmax(-1).nan_to_num_(0.0);  // NaN: a row without an edge
  const at::Tensor row = drawn.positions() - request_.query_begin;
  const at::Tensor keys = drawn.keys();
  sums_.key.index_add_(0, keys, p.sum(0).to(at::kDouble));
  const std::int64_t in_block = std::min(request_.cell, tile_key);
  const auto pooled = [&](const at::Tensor& tensor) {
    return tensor.unflatten(-1, {tensor.size(-1) / in_block, in_block});
  };
  // A span that ends makes a score minus infinity, too; it is no edge.
  const at::Tensor visible = (scores != -kInfinity).to(at::kInt);
  add_cells(row.floor_divide(request_.cell), keys.reshape({-1, in_block}).select(-1, 0), pooled(p), pooled(visible));
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
