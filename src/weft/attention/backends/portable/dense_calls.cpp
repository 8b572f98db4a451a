// SPDX-License-Identifier: Apache-2.0
// scaled_dot_product_attention() over whole tensors.
#include "weft/attention/backends/portable/dense_calls.h"

#include <ATen/ops/scaled_dot_product_attention.h>

namespace weft::attention {

Answer dense_takes(const Call& call) {
  // LibTorch's operator divides by zero where there is nothing to do.
  const bool is_dense = call.query.numel() > 0 && call.key.numel() > 0 && call.query.size(3) == call.value.size(3) &&
                        !call.key_keep.defined() && call.dropout.probability == 0 && !call.distances.scores.defined() &&
                        !call.positions.queries.defined() && !call.relative.query.defined() &&
                        (call.layout->is_full() || call.layout->is_causal());
  return Answer::unless(!is_dense,
                        "the dense path serves full and causal layouts without padding, dropout, slopes, a distance "
                        "table, row positions or a relative term only");
}

Forward portable_dense_forward(const Call& call) {
  const bool is_grouped = call.query.size(1) != call.key.size(1);
  return {at::scaled_dot_product_attention(call.query, call.key, call.value, {}, 0.0, !call.layout->is_full(),
                                           call.scale, is_grouped),
          {}};
}

}  // namespace weft::attention
