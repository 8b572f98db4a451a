// SPDX-License-Identifier: Apache-2.0
// AMX tiles made of loops, and the fused kernels on top of them: every product of the AMX kernel runs on processors
// without tiles. Faults where the processor would: outside a session, or with tiles that do not fit each other.
#include "kernels/emulated_tiles.h"
#include "weft/kernels/fused/entry.h"
#include "weft/kernels/fused/tile_check.h"
#include "weft/kernels/int8/entry.h"
#include "weft/kernels/int8/isa/amx.h"
#include "weft/kernels/isa/amx.h"

namespace weft::test {
namespace {

using kernels::kTileRows;

struct TileState {
  bool is_configured = false;
  alignas(64) std::uint32_t unit[8][kTileRows][kTileRows];
};

thread_local TileState state;

// The state of a thread inside a session.
TileState& configured() noexcept {
  if (!state.is_configured) {
    __builtin_trap();
  }
  return state;
}

float high_half(std::uint32_t unit) noexcept { return __builtin_bit_cast(float, unit & 0xFFFF0000U); }
float low_half(std::uint32_t unit) noexcept { return __builtin_bit_cast(float, unit << 16); }

// The instructions of isa/tiles.h by their pseudocode (Intel, "Intel 64 and IA-32 Architectures Software Developer's
// Manual", TDPBF16PS): the first and the second numbers of the pairs are summed apart, then joined and added.
struct EmulatedTiles {
  static void configure() noexcept {
    if (state.is_configured) {
      __builtin_trap();  // a session inside another would end it
    }
    state.is_configured = true;
    __builtin_memset(state.unit, 0, sizeof state.unit);
  }
  static void release() noexcept { configured().is_configured = false; }

  template <int kTile>
  static void zero() noexcept {
    __builtin_memset(configured().unit[kTile], 0, sizeof state.unit[kTile]);
  }
  template <int kTile>
  static void load(const void* from, std::int64_t stride) noexcept {
    for (std::int64_t row = 0; row < kTileRows; ++row) {
      __builtin_memcpy(configured().unit[kTile][row], static_cast<const char*>(from) + row * stride, 64);
    }
  }
  template <int kTile>
  static void store(void* to, std::int64_t stride) noexcept {
    for (std::int64_t row = 0; row < kTileRows; ++row) {
      __builtin_memcpy(static_cast<char*>(to) + row * stride, configured().unit[kTile][row], 64);
    }
  }
  template <int kSums, int kLeft, int kRight>
  static void multiply_add() noexcept {
    static_assert(kSums != kLeft && kSums != kRight && kLeft != kRight, "the processor faults on a tile used twice");
    TileState& tiles = configured();
    for (std::int64_t row = 0; row < kTileRows; ++row) {
      float first[kTileRows] = {};
      float second[kTileRows] = {};
      for (std::int64_t step = 0; step < kTileRows; ++step) {
        const std::uint32_t left = tiles.unit[kLeft][row][step];
        for (std::int64_t column = 0; column < kTileRows; ++column) {
          const std::uint32_t right = tiles.unit[kRight][step][column];
          first[column] = __builtin_fmaf(low_half(left), low_half(right), first[column]);
          second[column] = __builtin_fmaf(high_half(left), high_half(right), second[column]);
        }
      }
      for (std::int64_t column = 0; column < kTileRows; ++column) {
        std::uint32_t& sum = tiles.unit[kSums][row][column];
        sum = __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, sum) + (first[column] + second[column]));
      }
    }
  }
  /// TDPBUSD: four unsigned bytes by four signed ones.
  template <int kSums, int kLeft, int kRight>
  static void multiply_codes() noexcept {
    static_assert(kSums != kLeft && kSums != kRight && kLeft != kRight, "the processor faults on a tile used twice");
    TileState& tiles = configured();
    for (std::int64_t row = 0; row < kTileRows; ++row) {
      for (std::int64_t step = 0; step < kTileRows; ++step) {
        const std::uint32_t left = tiles.unit[kLeft][row][step];
        for (std::int64_t column = 0; column < kTileRows; ++column) {
          const std::uint32_t right = tiles.unit[kRight][step][column];
          std::uint32_t& sum = tiles.unit[kSums][row][column];
          for (int shift = 0; shift < 32; shift += 8) {
            const int its_code = static_cast<int>((right >> shift & 0xFF) ^ 0x80) - 0x80;  // its sign is bit 7
            sum += static_cast<std::uint32_t>(static_cast<int>(left >> shift & 0xFF) * its_code);
          }
        }
      }
    }
  }
};

struct EmulatedAmx : kernels::AmxOn<EmulatedTiles> {};
struct EmulatedAmxCodes : kernels::AmxCodesOn<EmulatedTiles> {};

}  // namespace

constinit const kernels::FusedKernels kEmulatedAmxKernels{kernels::run_fused_forward<EmulatedAmx>,
                                                          kernels::run_fused_backward<EmulatedAmx>};

constinit const kernels::Int8Kernels kEmulatedAmxInt8 = kernels::kInt8KernelsOf<EmulatedAmxCodes>;

bool emulated_product_is_right() noexcept { return kernels::tile_product_is_right<EmulatedAmx>(); }

}  // namespace weft::test
