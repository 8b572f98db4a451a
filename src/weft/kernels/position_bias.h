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
  if (bias.first != nullptr && (key == 0 || key == -distance)) {
    return -static_cast<Sum>(bias.first[head]);
  }
  return distance > 0 ? static_cast<Sum>(bias.left[head]) * static_cast<Sum>(-distance)
                      : static_cast<Sum>(bias.right[head]) * static_cast<Sum>(distance);
}

}  // namespace weft::kernels
