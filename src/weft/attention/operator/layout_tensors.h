// SPDX-License-Identifier: Apache-2.0
// A layout as the tensors and numbers that an operator schema can carry, and back.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/attention/layout.h"

namespace weft::attention {

/// tensors: group int32 [batch * heads], row_begin int64 [groups * query_blocks + 1], key_block int32 [blocks], kind
/// int32 [blocks], mask_bits int64 [words], log_weight float32 [numbers] (BlockLayout says what they hold). sizes:
/// tile_query, tile_key, query_length, key_length, query_offset, heads, batch, groups.
struct LayoutTensors {
  std::vector<at::Tensor> tensors;
  std::vector<std::int64_t> sizes;
};

/// Views of the layout's own arrays, which they keep alive. Nobody may write to them: kernels follow them unchecked.
LayoutTensors to_tensors(const LayoutPtr& layout);

/// The layout that the tensors are views of where it still lives, else one copied from them. Errors: kArgument that
/// names what does not fit: tensors may come from anywhere, and a kernel follows their indices.
LayoutPtr from_tensors(at::TensorList tensors, at::IntArrayRef sizes);

}  // namespace weft::attention
