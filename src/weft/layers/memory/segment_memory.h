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
  std::vector<at::Tensor> layers;      ///< [B, M, hidden] each; none before the first segment
  std::vector<at::Tensor> compressed;  ///< [B, C, hidden] each, of the tokens before those (Rae et al. 2020); or none
  std::int64_t unfinished = 0;         ///< tokens of a segment that has not ended, where a text comes in smaller pieces

  /// M, tokens that it remembers one by one.
  std::int64_t length() const { return layers.empty() ? 0 : layers.front().size(1); }
  /// C + M.
  std::int64_t rows() const { return (compressed.empty() ? 0 : compressed.front().size(1)) + length(); }
  /// Compressed rows of a layer, then its others: [B, C + M, hidden].
  at::Tensor rows(std::size_t layer) const;
  /// Takes in the inputs of each layer at the tokens that follow, [B, N, hidden] each, and keeps the last `most`
  /// tokens.
  void take(const std::vector<at::Tensor>& inputs, std::int64_t most);

  /// The same, and keeps all of them.
  void append(const std::vector<at::Tensor>& inputs);
  /// The oldest `count` rows of each layer, which it forgets.
  std::vector<at::Tensor> drop_oldest(std::int64_t count);
  /// Compressed rows that follow, [B, n, hidden] for each layer; the last `most` are kept.
  void add_compressed(const std::vector<at::Tensor>& added, std::int64_t most);
  /// Row b of the batch becomes what row order[b] was, int64 [B'].
  void reorder(const at::Tensor& order);

  /// `layers.<n>` and `compressed.<n>`, for a checkpoint.
  std::vector<std::pair<std::string, at::Tensor>> save() const;
};

}  // namespace weft::layers
