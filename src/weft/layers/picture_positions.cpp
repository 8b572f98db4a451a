// SPDX-License-Identifier: Apache-2.0
// Three look-ups and their sum.
#include "weft/layers/picture_positions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/div.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>

namespace weft::layers {

PicturePositionsImpl::PicturePositionsImpl(const PictureSides& sides, std::int64_t hidden,
                                           const at::TensorOptions& options) {
  rows = register_parameter("rows", at::empty({sides.rows, hidden}, options));
  columns = register_parameter("columns", at::empty({sides.columns, hidden}, options));
  channels = register_parameter("channels", at::empty({sides.channels, hidden}, options));
}

at::Tensor PicturePositionsImpl::forward(std::int64_t first, std::int64_t count) const {
  const at::Tensor position = at::arange(first, first + count, rows.options().dtype(at::kLong));
  const at::Tensor pixel = at::div(position, channels.size(0), "floor");
  return at::embedding(rows, at::div(pixel, columns.size(0), "floor")) +
         at::embedding(columns, pixel.remainder(columns.size(0))) +
         at::embedding(channels, position.remainder(channels.size(0)));
}

}  // namespace weft::layers
