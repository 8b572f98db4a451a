// SPDX-License-Identifier: Apache-2.0
// Compression happens rarely, and then for all layers.
#include "weft/models/stack/compressive.h"

#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>

namespace weft::models {

std::int64_t CompressiveSizes::leaving(std::int64_t held) const {
  return held > most ? (held - most) / rate * rate : 0;
}

at::Tensor take_in(const StackImpl& stack, layers::SegmentMemory& memory, const std::vector<at::Tensor>& inputs,
                   const CompressiveSizes& sizes) {
  memory.append(inputs);
  const std::int64_t leaving = sizes.leaving(memory.length());
  if (leaving == 0) {
    return {};
  }
  const std::vector<at::Tensor> old = memory.drop_oldest(leaving);
  std::vector<at::Tensor> fresh;
  at::Tensor loss;
  for (std::size_t layer = 0; layer < old.size(); ++layer) {
    layers::BlockImpl& block = *stack.blocks()[layer];
    fresh.push_back(block.compressed(old[layer]));
    if (fresh.back().requires_grad()) {
      const at::Tensor own = block.compression_loss(inputs[layer], old[layer], fresh.back());
      loss = loss.defined() ? loss + own : own;
    }
  }
  memory.add_compressed(fresh, sizes.compressed);
  return loss;
}

void refill(const StackImpl& stack, layers::DecodingState& state) {
  state.forget_tokens();
  const layers::SegmentMemory& memory = *state.memory();
  for (std::size_t layer = 0; layer < memory.layers.size(); ++layer) {
    stack.blocks()[layer]->remember(memory.rows(layer), state.layer(static_cast<std::int64_t>(layer)));
  }
  state.advance(memory.rows());
}

}  // namespace weft::models
