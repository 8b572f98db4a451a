// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"). A
// draw is a pure function of key and counter, so that dropout, random patterns and data order are the same on every
// thread, tile and instruction set. No STL container here: kernels include this header.
#pragma once

#include <cstdint>

namespace weft {

/// One draw: 128 bits in four words.
struct Philox4 {
  std::uint32_t value[4];
};

/// Ten rounds of Philox4x32 on a 128-bit counter (low, high) under a 64-bit key.
constexpr Philox4 philox(std::uint64_t key, std::uint64_t low, std::uint64_t high) noexcept {
  std::uint32_t c0 = static_cast<std::uint32_t>(low);
  std::uint32_t c1 = static_cast<std::uint32_t>(low >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(high);
  std::uint32_t c3 = static_cast<std::uint32_t>(high >> 32);
  std::uint32_t k0 = static_cast<std::uint32_t>(key);
  std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * c0;
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * c2;
    c0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(product1);
    c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(product0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {{c0, c1, c2, c3}};
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

}  // namespace weft
