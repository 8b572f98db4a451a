// SPDX-License-Identifier: Apache-2.0
// The AMX instructions that the kernels use. Written out instead of GCC 12's intrinsics: its
// _tile_loadconfig is declared to read 8 of 64 bytes, so that -O2 drops the other stores; its _tile_loadd says nothing
// of the memory it reads; and _tile_zero does not assemble with a template's argument. Included by files compiled for
// AMX only.
#pragma once

#include <cstdint>

namespace weft::kernels {

/// Rows of a tile, and 32-bit units in one of its rows.
inline constexpr std::int64_t kTileRows = 16;

/// What `ldtilecfg` reads (Intel, "Intel Architecture Instruction Set Extensions", chapter 3): palette 1 has eight
/// tiles.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfiguration) == 64);

/// The tile state of a thread, for as long as it works on a share.
template <class Tiles>
class TileSession {
 public:
  [[gnu::always_inline]] TileSession() noexcept { Tiles::configure(); }
  [[gnu::always_inline]] ~TileSession() { Tiles::release(); }
  TileSession(const TileSession&) = delete;
  TileSession& operator=(const TileSession&) = delete;
};

/// The processor's own tiles; each function is one instruction. `kTile` is the register's number; strides are in bytes.
struct HardwareTiles {
  /// All eight tiles as 16 rows of 64 bytes, zero. Others (oneDNN) share this state: release() it.
  [[gnu::always_inline]] static void configure() noexcept {
    const TileConfiguration configuration;
    asm volatile("ldtilecfg %0" : : "m"(configuration));
  }
  [[gnu::always_inline]] static void release() noexcept { asm volatile("tilerelease"); }

  template <int kTile>
  [[gnu::always_inline]] static void zero() noexcept {
    asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  template <int kTile>
  [[gnu::always_inline]] static void load(const void* from, std::int64_t stride) noexcept {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kTile>
  [[gnu::always_inline]] static void store(void* to, std::int64_t stride) noexcept {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(kTile) : "memory");
  }
  /// sums[row][column] += left[row][2 step] right[step][2 column] + left[row][2 step + 1] right[step][2 column + 1],
  /// over the sixteen steps.
  template <int kSums, int kLeft, int kRight>
  [[gnu::always_inline]] static void multiply_add() noexcept {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kLeft), "i"(kRight));
  }
  /// The same of bytes, four a unit, into sums of 32 bits: unsigned ones on the left, signed ones on the right.
  template <int kSums, int kLeft, int kRight>
  [[gnu::always_inline]] static void multiply_codes() noexcept {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kLeft), "i"(kRight));
  }
};

}  // namespace weft::kernels
