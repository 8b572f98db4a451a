// SPDX-License-Identifier: Apache-2.0
// AMX with BF16 on top of AVX-512: bfloat16 storage is multiplied in tiles of 16 x 16 sums, 32 numbers deep, everything
// else is AVX-512 with BF16. The tiles themselves are a parameter, so that the tests run the same code with tiles made
// of loops on a processor that has none.
#pragma once

#include <type_traits>

#include "weft/kernels/isa/avx512bf16.h"
#include "weft/kernels/isa/tiles.h"

namespace weft::kernels {

/// Pairs of bfloat16 as in PairUnits, in whole tiles: operands are padded to 16 units of steps and 16 rows.
template <class Instructions>
struct TileUnits : PairUnits {
  using Tiles = Instructions;
  static constexpr bool kTiled = true;
  static constexpr std::int64_t kStep = kTileRows;
  static constexpr std::int64_t kRows = kTileRows;

  using Session = TileSession<Instructions>;
};

template <class Instructions>
struct AmxOn : Avx512Bf16 {
  /// What storage of type Memory is multiplied as.
  template <typename Memory>
  using Units = std::conditional_t<std::is_same_v<Memory, std::uint16_t>, TileUnits<Instructions>, FloatUnits<Avx512>>;
};

struct Amx : AmxOn<HardwareTiles> {};

}  // namespace weft::kernels
