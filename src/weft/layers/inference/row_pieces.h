// SPDX-License-Identifier: Apache-2.0
// A function of rows, a part of them at a time, where somebody watches the work of this thread (core/work/pieces.h):
// a layer over a long text would hold up for its whole time who waits for the thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include "weft/core/work/pieces.h"

namespace weft::layers {

/// Rows of [..., N, in] that are computed at once, where a row takes `operations` (a multiplication and an addition are
/// two): a few milliseconds' worth, and so many that a product loses nothing by them. 0: all, because nobody watches,
/// a graph is recorded, or there are no more.
inline std::int64_t rows_of_piece(const at::Tensor& x, double operations) {
  constexpr double kOperations = 4e8;  // 2 to 8 ms of two cores
  constexpr double kFewestRows = 256;
  if (!work_is_watched() || at::GradMode::is_enabled() || x.dim() == 0 || x.size(-1) == 0) {
    return 0;
  }
  const double rows = std::max(kOperations / operations, kFewestRows);
  const auto piece = static_cast<std::int64_t>(rows);
  return x.numel() / x.size(-1) < 2 * piece ? 0 : piece;
}

/// `function` of x [..., in], [rows, in] -> [rows, out], with the end of a piece behind each part: [..., out].
template <typename Function>
at::Tensor in_row_pieces(const at::Tensor& x, double operations, Function&& function) {
  const std::int64_t step = rows_of_piece(x, operations);
  if (step == 0) {
    return function(x);
  }
  const at::Tensor rows = x.reshape({-1, x.size(-1)});
  at::Tensor all;
  for (std::int64_t begin = 0; begin < rows.size(0); begin += step) {
    const std::int64_t count = std::min(step, rows.size(0) - begin);
    const at::Tensor part = function(rows.narrow(0, begin, count));
    all = all.defined() ? all : at::empty({rows.size(0), part.size(1)}, part.options());
    all.narrow(0, begin, count).copy_(part);
    end_piece(0);
  }
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = all.size(1);
  return all.view(shape);
}

}  // namespace weft::layers
