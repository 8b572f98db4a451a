// SPDX-License-Identifier: Apache-2.0
// The additive biases of a piece: 0 for an edge, its log multiplicity where it is weighted, -infinity for no edge; and
// what distances take away.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorOptions.h>

#include "weft/attention/attention.h"
#include "weft/attention/backends/blocks/pieces.h"

namespace weft::attention {

/// [products or 1, 1, query_tokens or 1, key_tokens] of float32 or float64 as `options` say; undefined when every slot
/// is an edge. Covers the blocks and keys beyond the key length, not padding.
at::Tensor layout_bias(const Piece& piece, const at::TensorOptions& options);

/// Positions, int64, of a piece's queries [products, query_tokens] and keys [products, key_tokens].
struct PiecePositions {
  at::Tensor queries;
  at::Tensor keys;
};
PiecePositions positions_of(const Piece& piece, const at::Device& device);

/// [products, heads, query_tokens, key_tokens]: what the table of all heads adds to scores.
at::Tensor distance_bias(const Piece& piece, const DistanceTable& table);

/// Adds the gradient of the table to `sums`, from those of scores as distance_bias() shapes them.
void add_distance_gradient(const Piece& piece, const DistanceTable& table, const at::Tensor& gradients,
                           const at::Tensor& sums);

}  // namespace weft::attention
