// SPDX-License-Identifier: Apache-2.0
// How each label fares, a chunk of the rows that have one at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include "weft/attention/accumulation.h"
#include "weft/layers/linear_cross_entropy.h"

namespace weft::layers {

/// Which rows have a label to predict: labels int64 [T] -> int64 [T'].
inline at::Tensor labelled_rows(const at::Tensor& labels) { return labels.ne(kIgnoredLabel).nonzero().squeeze(1); }

/// [T] each, of hidden [T, D] and labels int64 [T] on one device; `rows` are the labelled_rows(). `part` makes the
/// LabelScores [C] of a Labelled with at most `step` rows. Nats are float32 (float64 for float64 hidden).
template <typename Part>
LabelScores scores_by_chunks(const at::Tensor& hidden, const at::Tensor& labels, const at::Tensor& rows,
                             std::int64_t step, const Part& part) {
  const LabelScores scores{at::zeros(labels.sizes(), hidden.options().dtype(attention::accumulation_type(hidden))),
                           at::zeros(labels.sizes(), hidden.options().dtype(at::kBool))};
  for (std::int64_t begin = 0; begin < rows.size(0); begin += step) {
    const at::Tensor chosen = rows.narrow(0, begin, std::min(step, rows.size(0) - begin));
    const LabelScores own = part(Labelled{hidden.index_select(0, chosen), labels.index_select(0, chosen)});
    scores.nats.index_copy_(0, chosen, own.nats);
    scores.hits.index_copy_(0, chosen, own.hits);
  }
  return scores;
}

}  // namespace weft::layers
