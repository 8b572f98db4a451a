// SPDX-License-Identifier: Apache-2.0
// What the passes over the elements of a tensor are given. Dropout has the struct of every processor
// (kernels/element_dropout.h).
#pragma once

#include <cstdint>

#include "weft/kernels/arguments.h"

namespace weft::kernels::cuda {

/// Rotary positions: (x1, x2) -> (x1 cos - x2 sin, x2 cos + x1 sin) for the pairs of columns i and half + i of each
/// row, with the angles of the row, cosine[row][i] and sine[row][i].
struct DeviceRotation {
  DType dtype = DType::kFloat32;
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t length = 0;
  std::int64_t half = 0;  ///< pairs of a row
  Input input;
  Output output;
  const float* cosine = nullptr;  ///< [length][half]
  const float* sine = nullptr;
  bool is_inverse = false;
};

}  // namespace weft::kernels::cuda
