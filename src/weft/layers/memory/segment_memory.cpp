// SPDX-License-Identifier: Apache-2.0
// The last rows of two tensors, layer by layer.
#include "weft/layers/memory/segment_memory.h"

#include <ATen/ops/cat.h>

#include <algorithm>

#include "weft/core/error.h"

namespace weft::layers {

namespace {

/// The last `most` rows of `before` [B, M, hidden], which may be undefined, and `added`, in storage of their own: a
/// view would hold all of a segment, and what the segment computed.
at::Tensor last_rows(const at::Tensor& before, const at::Tensor& added, std::int64_t most) {
  const std::int64_t fresh = std::min(added.size(1), most);
  at::Tensor rows = added.narrow(1, added.size(1) - fresh, fresh);
  const std::int64_t kept = before.defined() ? std::min(before.size(1), most - fresh) : 0;
  if (kept > 0) {
    rows = at::cat({before.narrow(1, before.size(1) - kept, kept), rows}, 1);
  }
  return rows.is_alias_of(added) ? rows.clone(at::MemoryFormat::Contiguous) : rows;
}

std::vector<at::Tensor> all_last_rows(const std::vector<at::Tensor>& before, const std::vector<at::Tensor>& added,
                                      std::int64_t most) {
  require(before.empty() || before.size() == added.size(), "memory: made for ", before.size(), " layers, found ",
          added.size());
  std::vector<at::Tensor> next;
  next.reserve(added.size());
  for (std::size_t layer = 0; layer < added.size(); ++layer) {
    next.push_back(last_rows(before.empty() ? at::Tensor() : before[layer], added[layer].detach(), most));
  }
  return next;
}

}  // namespace

at::Tensor SegmentMemory::rows(std::size_t layer) const {
  return compressed.empty() ? layers.at(layer) : at::cat({compressed.at(layer), layers.at(layer)}, 1);
}

void SegmentMemory::take(const std::vector<at::Tensor>& inputs, std::int64_t most) {
  layers = all_last_rows(layers, inputs, most);
}

void SegmentMemory::append(const std::vector<at::Tensor>& inputs) {
  take(inputs, length() + (inputs.empty() ? 0 : inputs.front().size(1)));
}

std::vector<at::Tensor> SegmentMemory::drop_oldest(std::int64_t count) {
  require(count >= 0 && count <= length(), "memory: cannot drop ", count, " of ", length(), " tokens");
  std::vector<at::Tensor> dropped;
  for (at::Tensor& rows : layers) {
    dropped.push_back(rows.narrow(1, 0, count));
    rows = rows.narrow(1, count, rows.size(1) - count).clone(at::MemoryFormat::Contiguous);
  }
  return dropped;
}

void SegmentMemory::add_compressed(const std::vector<at::Tensor>& added, std::int64_t most) {
  compressed = all_last_rows(compressed, added, most);
}

void SegmentMemory::reorder(const at::Tensor& order) {
  for (std::vector<at::Tensor>* const all : {&layers, &compressed}) {
    for (at::Tensor& rows : *all) {
      rows = rows.index_select(0, order);
    }
  }
}

std::vector<std::pair<std::string, at::Tensor>> SegmentMemory::save() const {
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  tensors.reserve(layers.size() + compressed.size());
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    tensors.emplace_back(concat("layers.", layer), layers[layer]);
  }
  for (std::size_t layer = 0; layer < compressed.size(); ++layer) {
    tensors.emplace_back(concat("compressed.", layer), compressed[layer]);
  }
  return tensors;
}

}  // namespace weft::layers
