// SPDX-License-Identifier: Apache-2.0
// Six Feistel rounds with Philox as the round function; fewer than four steps of the walk on average.
#include "weft/data/permutation.h"

#include <bit>

#include "weft/core/random.h"

namespace weft::data {

std::uint64_t permuted(std::uint64_t index, std::uint64_t count, std::uint64_t key) noexcept {
  const int half = (std::bit_width(count - 1) + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  do {
    std::uint64_t left = index >> half;
    std::uint64_t right = index & mask;
    for (std::uint64_t round = 0; round < 6; ++round) {
      const std::uint64_t mixed = left ^ (random_bits(key, right, round) & mask);
      left = right;
      right = mixed;
    }
    index = (left << half) | right;
  } while (index >= count);
  return index;
}

}  // namespace weft::data
