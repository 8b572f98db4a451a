// SPDX-License-Identifier: Apache-2.0
// Sums of whole units do not depend on their order, and so not on threads.
#pragma once

#include <bit>
#include <cstdint>

namespace weft::attention {

/// The nearest whole number of one of at most 2^51, ties to even: without a call, so that it becomes vectors.
inline std::int64_t nearest_whole(double number) {
  constexpr double kShift = 0x1.8p52;
  return std::bit_cast<std::int64_t>(number + kShift) - std::bit_cast<std::int64_t>(kShift);
}

}  // namespace weft::attention
