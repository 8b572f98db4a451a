// SPDX-License-Identifier: Apache-2.0
// The tensors of a call in the form that pieces are cut from: flat, contiguous, padded to whole blocks with zeros, in
// the dtype of the products.
#pragma once

#include <vector>

#include "weft/attention/backends/blocks/pieces.h"
#include "weft/attention/backends/blocks/products.h"
#include "weft/attention/call.h"
#include "weft/attention/row_positions.h"

namespace weft::attention {

class BlockInputs {
 public:
  explicit BlockInputs(const Call& call);

  /// Pieces in the order that they must be taken in.
  std::vector<Piece> pieces() const;
  PieceInputs at(const Piece& piece) const;

  /// [B, H, Q, C] -> [B * H, padded Q, C] in the dtype of the products.
  at::Tensor flat_queries(const at::Tensor& tensor) const;
  /// Takes rows, bool [B * H, padded Q], out of the backward pass: zero queries carry no NaN into the keys' gradients.
  void clear_queries(const at::Tensor& rows);

  const at::Tensor& query() const noexcept { return query_; }
  const at::Tensor& key() const noexcept { return key_; }
  const at::Tensor& value() const noexcept { return value_; }

 private:
  at::Tensor flatten(const at::Tensor& tensor, std::int64_t length) const;
  void bind_padding();
  void bind_positions();
  void clear_invalid();
  at::Tensor bias_of(const Piece& piece, const at::Tensor& hidden) const;
  PairPositions positions_of(const Piece& piece) const;
  bool sees_padding(const Piece& piece) const;

  const Call& call_;
  const pattern::BlockLayout& layout_;
  at::ScalarType product_type_;
  at::Tensor query_;
  at::Tensor key_;
  at::Tensor value_;
  at::Tensor key_bias_;             // [B, padded K]: 0 or -infinity; undefined without padding
  std::vector<bool> padded_block_;  // [B * key blocks]
  RowPositions positions_;          // flat: [B * H, padded Q, 1] and [B * H, padded K, 1], or undefined
  at::Tensor invalid_keys_;         // bool [B * H, padded K, 1] or undefined
  at::Tensor invalid_values_;       // 0 or 1 [B * H, padded K, D_v] or undefined
};

}  // namespace weft::attention
