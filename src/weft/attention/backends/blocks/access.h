// SPDX-License-Identifier: Apache-2.0
// Reads and writes the query and key rows of a piece in flat [heads, tokens, columns] tensors: in place where the rows
// are uniform, else by gathering whole blocks.
#pragma once

#include <ATen/core/Tensor.h>

#include "weft/attention/backends/blocks/pieces.h"

namespace weft::attention {

/// `flat` is contiguous [batch * heads, query_blocks * tile, C] -> [products, heads, query_tokens, C].
at::Tensor select_queries(const at::Tensor& flat, const Piece& piece);

/// Writes what select_queries reads.
void store_queries(const at::Tensor& flat, const Piece& piece, const at::Tensor& values);

/// `flat` is contiguous [batch * heads, key_blocks * tile, C] -> [products, heads, key_tokens, C]. Views may overlap.
at::Tensor select_keys(const at::Tensor& flat, const Piece& piece);

/// As above for a tensor that all heads of a batch row share: [batch, tokens] -> [products, 1, 1, key_tokens].
at::Tensor select_key_bias(const at::Tensor& flat, const Piece& piece);

/// Adds values [products, heads, key_tokens, C] to the places that select_keys reads, in a fixed order.
void add_keys(const at::Tensor& flat, const Piece& piece, const at::Tensor& values);

}  // namespace weft::attention
