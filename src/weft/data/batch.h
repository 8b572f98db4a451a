// SPDX-License-Identifier: Apache-2.0
// What a model is shown in one forward pass.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace weft::data {

/// A label that is not scored.
inline constexpr std::int64_t kIgnoredLabel = -100;

/// Inputs and targets of one forward pass, on the CPU.
struct Batch {
  at::Tensor input_ids;  ///< int64 [B, N]
  at::Tensor labels;     ///< int64 [B, N], the target at each position or kIgnoredLabel
};

}  // namespace weft::data
