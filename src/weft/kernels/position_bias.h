// SPDX-License-Identifier: Apache-2.0
// The bias of one score. What tiles add is tested against this. No STL container here: files compiled for one
// instruction set include this header.
#pragma once

#include <cstdint>

#include "weft/kernels/arguments.h"

namespace weft::kernels {

/// What is added to scale * q k for row `query` and key `key` of a head.
template <typename Sum>
[[gnu::always_inline]] inline Sum position_bias(const PositionBias& bias, std::int64_t head, std::int64_t query,
                                                std::int64_t key) noexcept {
  const std::int64_t distance = query + bias.query_offset - key;
  if (bias.left == nullptr || distance == 0) {
    return 0;
  }
  const bool is_first = bias.first != nullptr && (key == 0 || key == -distance);
  const float* slopes = is_first ? bias.first : (distance > 0 ? bias.left : bias.right);
  return static_cast<Sum>(slopes[head]) * static_cast<Sum>(distance > 0 ? -distance : distance);
}

}  // namespace weft::kernels
