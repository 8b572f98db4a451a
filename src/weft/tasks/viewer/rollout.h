// SPDX-License-Identifier: Apache-2.0
// Attention rollout: how much of each token reaches a position through all layers, residual paths included.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/tasks/viewer/attention_view.h"

namespace weft::tasks {

constexpr const char* kRollout = "rollout";  ///< the name of its part

/// What rollout needs of the heads of a source's self-attention, gathered one by one: the sum of each layer's heads.
class RolloutSums {
 public:
  /// A head by the number of its part and its place in the part's list.
  using HeadPlace = std::pair<std::size_t, std::size_t>;

  /// For the layers among `parts`, which must be all with all heads; their pictures are not read. Nothing where there
  /// is no layer, one has no weights to show, or their cells differ.
  static std::optional<RolloutSums> of(const std::vector<ViewedPart>& parts);

  /// Takes the picture of a whole head. One that was taken already, or that rollout does not need, is passed over.
  void add(const HeadPlace& head, const attention::HeadPicture& picture);
  /// Those whose pictures it needs still.
  std::vector<HeadPlace> missing() const;

  /// The part without a picture; its one head has number 0.
  ViewedPart part() const;
  /// Its picture, once no head is missing, with `top` keys for each of `tokens` rows where a cell is a token.
  attention::HeadPicture picture(std::int64_t tokens, std::int64_t top) const;

 private:
  struct Layer {
    std::size_t part;
    std::set<std::size_t> missing;
    at::Tensor mass = {};  // float64 [cells, cells]: sum of p over the heads
  };

  std::vector<Layer> layers_;
  std::int64_t cell_ = 0;
};

/// Rollout (Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers") of the source's self-attention as one
/// more part: the product over the layers of (A + I) / 2, where A is the mean over the heads. A row without an edge
/// hands on itself. Exact where a cell is one token; of larger cells the mean rows are multiplied, and its `largest` is
/// their mean. `parts` must be all layers with all heads. Nothing where a layer has no weights to show.
std::optional<ViewedPart> rollout(const std::vector<ViewedPart>& parts, std::int64_t top);

}  // namespace weft::tasks
