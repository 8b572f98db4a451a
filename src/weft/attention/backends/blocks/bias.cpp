// SPDX-License-Identifier: Apache-2.0
// Expands bit masks and weights to numbers, for the blocks of one piece at a time: expanding all masks of a token-level
// random pattern at once would take more memory than its keys.
#include "weft/attention/backends/blocks/bias.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <limits>

#include "weft/attention/distance_table.h"

namespace weft::attention {
namespace {

// Writes tile.query rows (or one, when no block is partial) of one block into a bias whose rows are `stride` long.
template <typename T>
class BlockWriter {
 public:
  BlockWriter(const pattern::BlockLayout& layout, std::int64_t queries, std::int64_t stride)
      : layout_(layout), view_(layout.view()), queries_(queries), stride_(stride) {}

  void write(std::int64_t block, T* out) const {
    const std::int32_t kind = layout_.kind[static_cast<std::size_t>(block)];
    const std::int64_t first = std::int64_t{layout_.key_block[static_cast<std::size_t>(block)]} * layout_.tile.key;
    const std::int64_t keys = std::min<std::int64_t>(layout_.tile.key, layout_.key_length - first);
    for (std::int64_t query = 0; query < queries_; ++query) {
      T* row = out + query * stride_;
      write_row(kind, query, keys, row);
      std::fill(row + keys, row + layout_.tile.key, -std::numeric_limits<T>::infinity());
    }
  }

 private:
  void write_row(std::int32_t kind, std::int64_t query, std::int64_t keys, T* row) const {
    if (pattern::is_full(kind)) {
      std::fill(row, row + keys, T{0});
    } else if (pattern::is_partial(kind)) {
      const std::uint64_t* bits = view_.mask(kind) + query * view_.words();
      for (std::int64_t key = 0; key < keys; ++key) {
        row[key] = (bits[key / 64] >> (key % 64)) & 1 ? T{0} : -std::numeric_limits<T>::infinity();
      }
    } else {
      const float* weight = view_.weight(kind) + query * layout_.tile.key;
      std::copy(weight, weight + keys, row);
    }
  }

  const pattern::BlockLayout& layout_;
  pattern::LayoutView view_;
  std::int64_t queries_;
  std::int64_t stride_;
};

template <typename T>
void write_bias(const Piece& piece, at::Tensor& bias) {
  const std::int64_t stride = bias.size(3);
  const BlockWriter<T> writer(*piece.layout, bias.size(2), stride);
  T* out = bias.mutable_data_ptr<T>();
  const std::int64_t width = piece.rows->width;
  at::parallel_for(0, bias.size(0) * width, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int64_t row = at / width;
      writer.write(piece.block_begin(row) + at % width,
                   out + row * bias.stride(0) + at % width * piece.layout->tile.key);
    }
  });
}

// Positions [products, tokens] of runs of tokens: first(product, token / run) is where a run starts.
template <typename First>
at::Tensor positions(std::int64_t products, std::int64_t tokens, std::int64_t run, const First& first) {
  at::Tensor result = at::empty({products, tokens}, at::kLong);
  auto* out = result.mutable_data_ptr<std::int64_t>();
  for (std::int64_t at = 0; at < products * tokens; ++at) {
    out[at] = first(at / tokens, at % tokens / run) + at % tokens % run;
  }
  return result;
}

// The heads of a piece, which may be those of several members of the batch.
at::Tensor heads_of(const Piece& piece, const DistanceTable& table) {
  const at::TensorOptions options = table.scores.options().dtype(at::kLong).requires_grad(false);
  return at::arange(piece.heads.begin, piece.heads.end, options).remainder_(table.scores.size(0));
}

}  // namespace

PiecePositions positions_of(const Piece& piece, const at::Device& device) {
  const pattern::BlockLayout& layout = *piece.layout;
  const at::Tensor queries =
      positions(piece.products(), piece.query_tokens(), piece.query_tokens(), [&](std::int64_t product, std::int64_t) {
        return layout.query_offset + piece.query_block(product) * layout.tile.query;
      });
  const at::Tensor keys =
      positions(piece.products(), piece.key_tokens(), layout.tile.key, [&](std::int64_t product, std::int64_t block) {
        return std::int64_t{layout.key_block[static_cast<std::size_t>(piece.block_begin(product) + block)]} *
               layout.tile.key;
      });
  return {queries.to(device), keys.to(device)};
}

at::Tensor distance_bias(const Piece& piece, const DistanceTable& table) {
  const PiecePositions positions = positions_of(piece, table.scores.device());
  const DistanceTable of_piece{table.scores.index_select(0, heads_of(piece, table)), table.zero};
  return distance_scores(of_piece, positions.queries, positions.keys);
}

void add_distance_gradient(const Piece& piece, const DistanceTable& table, const at::Tensor& gradients,
                           const at::Tensor& sums) {
  const PiecePositions positions = positions_of(piece, table.scores.device());
  const at::Tensor heads = heads_of(piece, table);
  const DistanceTable of_piece{table.scores.index_select(0, heads), table.zero};
  sums.index_add_(0, heads, distance_gradient(of_piece, positions.queries, positions.keys, gradients));
}

at::Tensor layout_bias(const Piece& piece, const at::TensorOptions& options) {
  if (!piece.rows->has_bias) {
    return {};
  }
  // With shared kinds the first row stands for all: whether a block reaches beyond the keys is part of what they share.
  const std::int64_t rows = piece.merged || piece.rows->shared_kinds ? 1 : piece.count;
  const std::int64_t queries = piece.rows->query_bias ? piece.layout->tile.query : 1;
  at::Tensor bias = at::empty({rows, 1, queries, piece.key_tokens()}, options.device(at::kCPU));
  if (bias.scalar_type() == at::kDouble) {
    write_bias<double>(piece, bias);
  } else {
    write_bias<float>(piece, bias);
  }
  return bias.to(options.device());
}

}  // namespace weft::attention
