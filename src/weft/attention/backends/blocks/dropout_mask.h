// SPDX-License-Identifier: Apache-2.0
// The dropout of a piece as a tensor of multipliers: the same Philox draws as the kernels make, entry by entry.
#pragma once

#include <ATen/core/Tensor.h>

#include "weft/attention/backends/blocks/pieces.h"
#include "weft/kernels/arguments.h"

namespace weft::attention {

/// [products, heads, query_tokens, key_tokens]: 0, or 1 / (1 - probability).
at::Tensor dropout_mask(const Piece& piece, const kernels::Dropout& dropout, const at::Tensor& like);

/// [batch, heads, queries, keys] for a whole call, float64; for the dense oracle.
at::Tensor dense_dropout_mask(const kernels::Dropout& dropout, at::IntArrayRef sizes);

}  // namespace weft::attention
