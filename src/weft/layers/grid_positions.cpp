// SPDX-License-Identifier: Apache-2.0
// Two or three look-ups and their sum.
#include "weft/layers/grid_positions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/div.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>

namespace weft::layers {

GridPositionsImpl::GridPositionsImpl(const GridSides& sides, std::int64_t hidden, const at::TensorOptions& options) {
  rows = register_parameter("rows", at::empty({sides.rows, hidden}, options));
  columns = register_parameter("columns", at::empty({sides.columns, hidden}, options));
  if (sides.channels > 0) {
    channels = register_parameter("channels", at::empty({sides.channels, hidden}, options));
  }
}

at::Tensor GridPositionsImpl::forward(std::int64_t first, std::int64_t count) const {
  const at::Tensor position = at::arange(first, first + count, rows.options().dtype(at::kLong));
  const at::Tensor place = channels.defined() ? at::div(position, channels.size(0), "floor") : position;
  const at::Tensor sum = at::embedding(rows, at::div(place, columns.size(0), "floor")) +
                         at::embedding(columns, place.remainder(columns.size(0)));
  return channels.defined() ? sum + at::embedding(channels, position.remainder(channels.size(0))) : sum;
}

}  // namespace weft::layers
