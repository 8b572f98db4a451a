// SPDX-License-Identifier: Apache-2.0
// Flattens, pads and converts the tensors of a call, and joins what masks a piece: the layout, padding, invalid keys.
#include "weft/attention/backends/blocks/inputs.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>

#include "weft/attention/backends/blocks/access.h"
#include "weft/attention/backends/blocks/bias.h"
#include "weft/attention/backends/blocks/dropout_mask.h"
#include "weft/attention/tensors.h"

namespace weft::attention {
namespace {

// Elements of one piece's workspace: 16 MB of float32, which stays near the cache and below malloc's mmap threshold.
constexpr std::int64_t kPieceElements = std::int64_t{4} << 20;

}  // namespace

BlockInputs::BlockInputs(const Call& call)
    : call_(call),
      layout_(call.layout->blocks()),
      product_type_(accumulation_type(call.query)),
      query_(flat_queries(call.query)),
      key_(flatten(call.key, layout_.key_blocks() * layout_.tile.key)),
      value_(flatten(call.value, layout_.key_blocks() * layout_.tile.key)) {
  if (call.key_keep.defined()) {
    bind_padding();
  }
  if (call.positions.queries.defined()) {
    bind_positions();
  }
  if (!all_finite({key_, value_})) {
    clear_invalid();
  }
}

at::Tensor BlockInputs::flatten(const at::Tensor& tensor, std::int64_t length) const {
  at::Tensor flat = repeat_key_heads(tensor.to(product_type_), layout_.heads);
  if (flat.size(2) != length) {
    flat = at::constant_pad_nd(flat, {0, 0, 0, length - flat.size(2)});
  }
  return flat.contiguous().view({flat.size(0) * flat.size(1), length, flat.size(3)});
}

at::Tensor BlockInputs::flat_queries(const at::Tensor& tensor) const {
  return flatten(tensor, layout_.query_blocks() * layout_.tile.query);
}

void BlockInputs::clear_queries(const at::Tensor& rows) { query_ = query_.masked_fill(rows.unsqueeze(-1), 0.0); }

void BlockInputs::bind_padding() {
  const std::int64_t length = layout_.key_blocks() * layout_.tile.key;
  const at::Tensor keep = call_.key_keep;
  key_bias_ = at::zeros({keep.size(0), length}, call_.query.options().dtype(accumulation_type(call_.query)));
  key_bias_.narrow(1, 0, keep.size(1)).masked_fill_(keep.logical_not(), -kInfinity);
  const at::Tensor padded = (key_bias_ != 0).view({keep.size(0), layout_.key_blocks(), layout_.tile.key}).any(-1).cpu();
  const bool* flags = padded.const_data_ptr<bool>();
  padded_block_.assign(flags, flags + padded.numel());
}

void BlockInputs::bind_positions() {
  // Keys beyond the end are no edges of the layout, queries beyond it are not looked at.
  const auto flat = [](const at::Tensor& positions, std::int64_t length) {
    return positions.defined() ? at::constant_pad_nd(positions.flatten(0, 1), {0, length - positions.size(2)})
                                     .unsqueeze(-1)
                                     .contiguous()
                               : positions;
  };
  const RowPositions& given = call_.positions;
  const at::Tensor keys = repeat_key_heads(given.keys.unsqueeze(-1), layout_.heads).squeeze(-1);
  positions_ = {flat(given.queries, query_.size(1)), flat(keys, key_.size(1)), flat(given.first, query_.size(1)),
                given.causal, given.not_self};
}

PairPositions BlockInputs::positions_of(const Piece& piece) const {
  RowPositions of_piece = positions_;
  of_piece.queries = select_queries(positions_.queries, piece);
  of_piece.keys = select_keys(positions_.keys, piece).transpose(2, 3);
  of_piece.first = positions_.first.defined() ? select_queries(positions_.first, piece) : at::Tensor();
  return pair_positions(of_piece);
}

void BlockInputs::clear_invalid() {
  invalid_keys_ = at::isfinite(key_).all(-1, true).logical_not_();
  key_ = key_.masked_fill(invalid_keys_, 0.0);
  const at::Tensor invalid = at::isfinite(value_).logical_not_();
  value_ = value_.masked_fill(invalid, 0.0);
  invalid_values_ = invalid.to(product_type_);
}

std::vector<Piece> BlockInputs::pieces() const {
  PieceLimits limits;
  limits.batch = call_.query.size(0);
  limits.split_batches = key_bias_.defined();
  limits.columns = query_.size(2) + value_.size(2);
  limits.elements = kPieceElements;
  return make_pieces(layout_, call_.layout->kept(row_batches_of), limits);
}

bool BlockInputs::sees_padding(const Piece& piece) const {
  if (!key_bias_.defined()) {
    return false;
  }
  const std::int64_t batch_row = piece.heads.begin / layout_.heads;
  const auto flags = padded_block_.begin() + batch_row * layout_.key_blocks();
  for (std::int64_t row = 0; row < piece.count; ++row) {
    for (std::int64_t block = 0; block < piece.rows->width; ++block) {
      if (flags[layout_.key_block[static_cast<std::size_t>(piece.block_begin(row) + block)]]) {
        return true;
      }
    }
  }
  return false;
}

at::Tensor BlockInputs::bias_of(const Piece& piece, const at::Tensor& hidden) const {
  at::Tensor bias = layout_bias(piece, call_.query.options().dtype(accumulation_type(call_.query)));
  const auto add = [&bias](const at::Tensor& more) { bias = bias.defined() ? bias + more : more; };
  if (sees_padding(piece)) {
    add(select_key_bias(key_bias_, piece));
  }
  if (call_.distances.scores.defined()) {
    add(distance_bias(piece, call_.distances));
  }
  if (hidden.defined()) {
    add(at::zeros(hidden.sizes(), call_.query.options().dtype(accumulation_type(call_.query)))
            .masked_fill_(hidden, -kInfinity));
  }
  return bias;
}

PieceInputs BlockInputs::at(const Piece& piece) const {
  PieceInputs inputs;
  inputs.query = select_queries(query_, piece);
  inputs.key = select_keys(key_, piece);
  inputs.value = select_keys(value_, piece);
  const PairPositions positions = positions_.queries.defined() ? positions_of(piece) : PairPositions{};
  inputs.bias = bias_of(piece, positions.hidden);
  inputs.own = positions.own;
  if (call_.dropout.probability > 0) {
    inputs.dropout = dropout_mask(piece, call_.dropout, query_);
  }
  if (invalid_keys_.defined()) {
    inputs.invalid_keys = select_keys(invalid_keys_, piece).transpose(2, 3);
    inputs.invalid_values = select_keys(invalid_values_, piece);
  }
  inputs.scale = call_.scale;
  inputs.asks_scores = call_.asks_distances;
  return inputs;
}

}  // namespace weft::attention
