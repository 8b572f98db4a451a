// SPDX-License-Identifier: Apache-2.0
// The additive bias of a piece: 0 for an edge, its log multiplicity where it is weighted, -infinity for no edge.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorOptions.h>

#include "weft/attention/blocks/pieces.h"

namespace weft::attention {

/// [products or 1, 1, query_tokens or 1, key_tokens] of float32 or float64 as `options` say; undefined when every slot
/// is an edge. Covers the blocks and keys beyond the key length, not padding.
at::Tensor layout_bias(const Piece& piece, const at::TensorOptions& options);

}  // namespace weft::attention
