// SPDX-License-Identifier: Apache-2.0
// The last rows of two tensors.
#include "weft/layers/segment_memory.h"

#include <ATen/ops/cat.h>

#include <algorithm>

#include "weft/core/error.h"

namespace weft::layers {

void SegmentMemory::take(const std::vector<at::Tensor>& inputs, std::int64_t most) {
  require(layers.empty() || layers.size() == inputs.size(), "memory: made for ", layers.size(), " layers, found ",
          inputs.size());
  std::vector<at::Tensor> next;
  for (std::size_t layer = 0; layer < inputs.size(); ++layer) {
    const at::Tensor added = inputs[layer].detach();
    const std::int64_t fresh = std::min(added.size(1), most);
    at::Tensor rows = added.narrow(1, added.size(1) - fresh, fresh);
    const std::int64_t kept = std::min(length(), most - fresh);
    if (kept > 0) {
      rows = at::cat({layers[layer].narrow(1, length() - kept, kept), rows}, 1);
    }
    // Its own storage: a view would hold all of the segment, and what the segment computed.
    next.push_back(rows.is_alias_of(added) ? rows.clone(at::MemoryFormat::Contiguous) : rows);
  }
  layers = std::move(next);
}

std::vector<std::pair<std::string, at::Tensor>> SegmentMemory::save() const {
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  tensors.reserve(layers.size());
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    tensors.emplace_back(concat("layers.", layer), layers[layer]);
  }
  return tensors;
}

}  // namespace weft::layers
