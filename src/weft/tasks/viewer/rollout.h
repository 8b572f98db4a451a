// SPDX-License-Identifier: Apache-2.0
// Attention rollout: how much of each token reaches a position through all layers, residual paths included.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/tasks/viewer/attention_view.h"

namespace weft::tasks {

/// Rollout (Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers") of the source's self-attention as one
/// more part: the product over the layers of (A + I) / 2, where A is the mean over the heads. A row without an edge
/// hands on itself. Exact where a cell is one token; of larger cells the mean rows are multiplied, and its `largest` is
/// their mean. `parts` must be all layers with all heads. Nothing where a layer has no weights to show.
std::optional<ViewedPart> rollout(const std::vector<ViewedPart>& parts, std::int64_t top);

}  // namespace weft::tasks
