// SPDX-License-Identifier: Apache-2.0
// One small product by tiles against plain loops, asked before tiles are trusted: emulators, hypervisors and compilers
// have been wrong about them.
#pragma once

#include <cstdint>

#include "weft/kernels/fused/product.h"

namespace weft::kernels {

/// Whether a product of 48 rows, 64 steps of numbers and 32 columns is what loops say. The numbers are small and whole,
/// so that every order of sums gives the same bits.
template <class Isa>
bool tile_product_is_right() noexcept {
  using Units = typename Isa::template Units<std::uint16_t>;
  constexpr std::int64_t kRows = 48;
  constexpr std::int64_t kSteps = 32;
  constexpr std::int64_t kColumns = 32;
  // bfloat16 of -3 to 3, by (row, step) and (step, column).
  constexpr std::uint16_t kWhole[] = {0xC040, 0xC000, 0xBF80, 0x0000, 0x3F80, 0x4000, 0x4040};
  const auto left_at = [](std::int64_t row, std::int64_t number) { return (row * 5 + number * 3) % 7; };
  const auto right_at = [](std::int64_t number, std::int64_t column) { return (number * 2 + column * 11) % 7; };
  typename Units::Unit left[kRows * kSteps];
  typename Units::Unit right[kSteps * kColumns];
  for (std::int64_t step = 0; step < kSteps; ++step) {
    for (std::int64_t row = 0; row < kRows; ++row) {
      left[row * kSteps + step] = static_cast<std::uint32_t>(kWhole[left_at(row, 2 * step)]) |
                                  static_cast<std::uint32_t>(kWhole[left_at(row, 2 * step + 1)]) << 16;
    }
    for (std::int64_t column = 0; column < kColumns; ++column) {
      right[step * kColumns + column] = static_cast<std::uint32_t>(kWhole[right_at(2 * step, column)]) |
                                        static_cast<std::uint32_t>(kWhole[right_at(2 * step + 1, column)]) << 16;
    }
  }
  float sums[kRows * kColumns];
  {
    [[maybe_unused]] const typename Units::Session session;
    product<Isa, Units>({{left, kSteps, 1}, right, kColumns, kSteps}, {sums, kColumns, kRows, kColumns / Isa::kLanes},
                        Scaled<Isa>{Isa::set(1.0F)});
  }
  bool is_right = true;
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t column = 0; column < kColumns; ++column) {
      std::int64_t sum = 0;
      for (std::int64_t number = 0; number < 2 * kSteps; ++number) {
        sum += (left_at(row, number) - 3) * (right_at(number, column) - 3);
      }
      is_right &= sums[row * kColumns + column] == static_cast<float>(sum);
    }
  }
  return is_right;
}

}  // namespace weft::kernels
