// SPDX-License-Identifier: Apache-2.0
// What dropout is drawn from: a number, and which random numbers are made of it. Training that began with the draws of
// an earlier version goes on with them, so that a resumed run comes to the same bits. Kernels include this header.
#pragma once

#include <cstdint>

#include "weft/core/random.h"

namespace weft {

/// kFirst: 32 bits an entry, ten rounds of Philox. kSecond: 16 bits an entry, seven rounds. kernels/dropout.h and
/// kernels/element_dropout.h say which bits an entry takes.
enum class DropoutDraws : std::uint8_t { kFirst = 1, kSecond = 2 };

inline constexpr DropoutDraws kNewestDraws = DropoutDraws::kSecond;

struct DropoutSeed {
  std::uint64_t number = 0;
  DropoutDraws draws = kNewestDraws;

  constexpr DropoutSeed() noexcept = default;
  /// A number alone has the newest draws.
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr DropoutSeed(std::uint64_t its_number, DropoutDraws its_draws = kNewestDraws) noexcept
      : number(its_number), draws(its_draws) {}

  /// An independent seed for a place, a layer for example, with the same draws.
  constexpr DropoutSeed derived(std::uint64_t low, std::uint64_t high = 0) const noexcept {
    return {random_bits(number, low, high), draws};
  }

  friend constexpr bool operator==(const DropoutSeed&, const DropoutSeed&) noexcept = default;
};

}  // namespace weft
