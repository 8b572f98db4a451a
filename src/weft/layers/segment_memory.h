// SPDX-License-Identifier: Apache-2.0
// What a segment of a text leaves for the next one (Dai et al. 2019, section 3.2): each layer's input at its last
// tokens. Keys and values are made of it anew, so that the projections learn from it, too.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::layers {

/// One batch of texts of equal length. Nothing in it has a graph.
struct SegmentMemory {
  std::vector<at::Tensor> layers;  ///< [B, M, hidden] each; none before the first segment

  /// M, tokens that it remembers.
  std::int64_t length() const { return layers.empty() ? 0 : layers.front().size(1); }
  /// Takes in the inputs of each layer at the tokens that follow, [B, N, hidden] each, and keeps the last `most`
  /// tokens.
  void take(const std::vector<at::Tensor>& inputs, std::int64_t most);

  /// `layers.<n>`, for a checkpoint.
  std::vector<std::pair<std::string, at::Tensor>> save() const;
};

}  // namespace weft::layers
