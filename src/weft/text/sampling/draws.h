// SPDX-License-Identifier: Apache-2.0
// A sequence of random numbers that its key alone decides.
#pragma once

#include <cstdint>

#include "weft/core/random.h"

namespace weft::text {

class Draws {
 public:
  explicit Draws(std::uint64_t key) : key_(key) {}
  /// In [0, 1).
  double next() { return static_cast<double>(random_bits(key_, count_++) >> 11) * 0x1p-53; }

 private:
  std::uint64_t key_;
  std::uint64_t count_ = 0;
};

}  // namespace weft::text
