// SPDX-License-Identifier: Apache-2.0
// What noise is drawn from: random numbers one after another that are a pure function of one key.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft::text {

class NoiseDraws {
 public:
  explicit NoiseDraws(std::uint64_t key) noexcept : key_(key) {}

  /// In [0, bound); `bound` is at least 1.
  std::size_t below(std::size_t bound) noexcept {
    return static_cast<std::size_t>(random_below(random_bits(key_, count_++), bound));
  }
  /// In [0, 1), of 53 bits.
  double unit() noexcept { return static_cast<double>(random_bits(key_, count_++) >> 11) * 0x1.0p-53; }

  /// A Poisson number of this mean, by Knuth's product of units. Means up to 100 are meant.
  std::size_t poisson(double mean) noexcept {
    const double end = std::exp(-mean);
    std::size_t number = 0;
    double product = unit();
    while (product > end) {
      product *= unit();
      ++number;
    }
    return number;
  }

  /// Puts `items` into an order of which all are equally likely.
  template <typename Item>
  void shuffle(std::vector<Item>& items) noexcept {
    for (std::size_t left = items.size(); left > 1; --left) {
      std::swap(items[left - 1], items[below(left)]);
    }
  }

  /// `total` as the sum of `parts` numbers of at least 1, each such list equally likely. Errors: kArgument unless
  /// 1 <= parts <= total.
  std::vector<std::size_t> parts_of(std::size_t total, std::size_t parts) {
    require(parts >= 1 && parts <= total, "cannot cut ", total, " things into ", parts, " parts");
    std::vector<std::size_t> sizes;
    std::size_t begin = 0;
    for (std::size_t place = 1; place < total; ++place) {
      const std::size_t cuts = parts - 1 - sizes.size();
      if (cuts > 0 && below(total - place) < cuts) {
        sizes.push_back(place - begin);
        begin = place;
      }
    }
    sizes.push_back(total - begin);
    return sizes;
  }

 private:
  std::uint64_t key_;
  std::uint64_t count_ = 0;
};

}  // namespace weft::text
