// SPDX-License-Identifier: Apache-2.0
// The additive biases of a piece: 0 for an edge, its log multiplicity where it is weighted, -infinity for no edge; and
// what distances take away.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorOptions.h>

#include "weft/attention/blocks/pieces.h"

namespace weft::attention {

/// [products or 1, 1, query_tokens or 1, key_tokens] of float32 or float64 as `options` say; undefined when every slot
/// is an edge. Covers the blocks and keys beyond the key length, not padding.
at::Tensor layout_bias(const Piece& piece, const at::TensorOptions& options);

/// [products, heads, query_tokens, key_tokens] in `type`: the position bias (attention/position_bias.h) of slopes [1 to
/// 3, all heads], on their device.
at::Tensor slope_bias(const Piece& piece, const at::Tensor& slopes, at::ScalarType type);

}  // namespace weft::attention
