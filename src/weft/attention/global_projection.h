// SPDX-License-Identifier: Apache-2.0
// Longformer's global queries (Beltagy et al. 2020, section 3.1): positions that look at every key through query, key
// and value projections of their own. A second, small attention beside the operator: few queries against all keys, in
// plain autograd.
#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

#include "weft/attention/attention.h"

namespace weft::attention {

/// y = x weight^T + bias; weight [H * D, M], bias [H * D] or undefined.
struct LinearWeights {
  at::Tensor weight;
  at::Tensor bias;
};

struct GlobalProjection {
  LinearWeights query;
  LinearWeights key;
  LinearWeights value;
  std::int64_t heads = 1;
};

/// `output` [B, H, N, D] of the local attention with the rows at the positions bound to `input` replaced by
/// softmax(scale * q K^T) V over all keys, q, K and V made from hidden_states [B, N, M] by `projection`. A row of the
/// batch looks at its own keys only (RowBinding::key_length, options.key_keep); without a position it is left as it is,
/// without a key it gives zeros. Accumulates in float32 (float64 for float64). Where there are few positions, no key
/// and no value is projected: (q W_K) X^T and (P X) W_V^T cost less. Errors: kArgument for shapes that do not fit or a
/// position outside the row.
at::Tensor with_global_rows(const at::Tensor& output, const at::Tensor& hidden_states,
                            std::span<const pattern::RowBinding> rows, const GlobalProjection& projection,
                            const AttentionOptions& options = {});

}  // namespace weft::attention
