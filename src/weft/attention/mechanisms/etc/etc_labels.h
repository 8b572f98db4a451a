// SPDX-License-Identifier: Apache-2.0
// Labels of pairs, and what they add: q . E is computed for all labels at once, and looked up for each pair.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "weft/core/random.h"

namespace weft::attention {

/// The last three labels, counted from the first of them.
enum class LastLabel : std::int64_t { kOthers = 0, kOwn = 1, kOtherSegment = 2 };

/// Labels of the distances key - query, int64.
at::Tensor distance_labels(const at::Tensor& distance, std::int64_t most);

/// What the label adds to each pair of a row: by_label [..., queries, labels], index [queries, keys] -> [..., queries,
/// keys].
at::Tensor look_up(const at::Tensor& by_label, const at::Tensor& index);

/// The number that one of the last labels adds, [..., queries, 1].
at::Tensor last_label(const at::Tensor& by_label, LastLabel label);

/// What a long and a global token add: by_label [B, H, queries, labels], own bool [B, queries, keys].
at::Tensor by_sentence(const at::Tensor& by_label, const at::Tensor& own);

/// Probabilities of scores [B, H, ...], 0 where `edges` (broadcast) is false, also in rows without an edge.
at::Tensor probabilities(const at::Tensor& scores, const at::Tensor& edges, double dropout, const DropoutSeed& seed);

}  // namespace weft::attention
