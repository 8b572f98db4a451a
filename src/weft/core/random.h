// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: Philox4x32 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"). A draw
// is a pure function of key and counter, so that dropout, random patterns and data order are the same on every thread,
// tile, instruction set and device. And what dropout is drawn from: a number, and which random numbers are made of it,
// so that training which began with those of an earlier version resumes to the same bits. No STL container here:
// kernels include this header.
#pragma once

#include <cstdint>

namespace weft {

/// One draw: 128 bits in four words.
struct Philox4 {
  std::uint32_t value[4];
};

/// The constants of Philox4x32: what the words 0 and 2 are multiplied by, and what is added to the key in each round.
inline constexpr std::uint32_t kPhiloxFactors[2] = {0xD2511F53, 0xCD9E8D57};
inline constexpr std::uint32_t kPhiloxSteps[2] = {0x9E3779B9, 0xBB67AE85};

/// Rounds of Philox4x32 on a 128-bit counter (low, high) under a 64-bit key. Seven are the fewest that pass all of
/// TestU01's batteries, ten leave a margin (Salmon et al. 2011, table 2).
template <int kRounds>
constexpr Philox4 philox_rounds(std::uint64_t key, std::uint64_t low, std::uint64_t high) noexcept {
  // Numbers, and no array: code for a GPU has no address of one outside of the function, and would trap instead.
  constexpr std::uint32_t kFactor0 = kPhiloxFactors[0];
  constexpr std::uint32_t kFactor2 = kPhiloxFactors[1];
  constexpr std::uint32_t kStep0 = kPhiloxSteps[0];
  constexpr std::uint32_t kStep1 = kPhiloxSteps[1];
  std::uint32_t c0 = static_cast<std::uint32_t>(low);
  std::uint32_t c1 = static_cast<std::uint32_t>(low >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(high);
  std::uint32_t c3 = static_cast<std::uint32_t>(high >> 32);
  std::uint32_t k0 = static_cast<std::uint32_t>(key);
  std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kFactor0} * c0;
    const std::uint64_t product1 = std::uint64_t{kFactor2} * c2;
    c0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(product1);
    c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(product0);
    k0 += kStep0;
    k1 += kStep1;
  }
  return {{c0, c1, c2, c3}};
}

/// Ten rounds.
constexpr Philox4 philox(std::uint64_t key, std::uint64_t low, std::uint64_t high) noexcept {
  return philox_rounds<10>(key, low, high);
}

/// A 64-bit draw for (key, low, high).
constexpr std::uint64_t random_bits(std::uint64_t key, std::uint64_t low, std::uint64_t high = 0) noexcept {
  const Philox4 draw = philox(key, low, high);
  return (std::uint64_t{draw.value[1]} << 32) | draw.value[0];
}

/// A draw in [0, bound) from 64 bits by multiplication; the bias is below bound / 2^64.
constexpr std::uint64_t random_below(std::uint64_t bits, std::uint64_t bound) noexcept {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(bits) * bound) >> 64);
}

/// A float in [0, 1) from 32 bits, 24 of them used.
constexpr float random_unit(std::uint32_t bits) noexcept {
  return static_cast<float>(bits >> 8) * (1.0F / 16777216.0F);
}

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
