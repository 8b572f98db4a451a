// SPDX-License-Identifier: Apache-2.0
// Two look-ups, joined along the width.
#include "weft/layers/axial_positions.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>

namespace weft::layers {

AxialPositionsImpl::AxialPositionsImpl(const AxialShape& shape, const at::TensorOptions& options)
    : rows(register_parameter("rows", at::empty({shape.rows, 1, shape.row_width}, options))),
      columns(register_parameter("columns", at::empty({1, shape.columns, shape.column_width}, options))) {}

at::Tensor AxialPositionsImpl::forward(std::int64_t first, std::int64_t count) {
  const at::Tensor positions = at::arange(first, first + count, at::TensorOptions(rows.device()).dtype(at::kLong));
  const std::int64_t width = columns.size(1);
  return at::cat({at::embedding(rows.squeeze(1), positions.div(width, "floor")),
                  at::embedding(columns.squeeze(0), positions.remainder(width))},
                 1);
}

}  // namespace weft::layers
