// SPDX-License-Identifier: Apache-2.0
// Six Feistel rounds with Philox as the round function; fewer than four steps of the walk on average.
#include "weft/data/permutation.h"

#include <bit>

#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft::data {

std::uint64_t permuted(std::uint64_t index, std::uint64_t count, std::uint64_t key) {
  require(index < count, "a place in a random order of ", count, " must be below that number, found ", index);
  // Two halves of equal width make a domain of 4^half >= count. A count of 1 has halves of no bits and one place.
  const int half = (std::bit_width(count - 1) + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  do {
    // A Feistel round can be undone whatever its function is, so that six of them are a bijection; walking on from
    // places outside [0, count) keeps that.
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
