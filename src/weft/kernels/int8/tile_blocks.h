// SPDX-License-Identifier: Apache-2.0
// Sums in the tile registers of AMX: 32 rows by two panels of outputs. They begin at the corrections and end in memory,
// where scales, bias and function find them as those of Int8Tile: the same bits.
#pragma once

#include <cstdint>

#include "weft/kernels/int8/tile.h"
#include "weft/kernels/isa/tiles.h"

namespace weft::kernels {

template <class Isa, class Storage, Int8Function kFunction, bool kGated>
class Int8TileBlocks : public Int8Tile<Isa, Storage, kFunction, kGated> {
 public:
  using Base = Int8Tile<Isa, Storage, kFunction, kGated>;
  using Base::Base;
  static constexpr int kTileRows = 2 * kernels::kTileRows;

  using Session = TileSession<typename Isa::Tiles>;

  /// As Int8Tile::compute(), inside a session; memory behind the codes of `end` is read up to a multiple of kTileRows.
  void compute(std::int64_t row, std::int64_t end, std::int64_t output) const noexcept {
    if (this->stride_ % kStep == 0) {
      const Columns columns = this->columns_of(output);
      // A row of a tile costs the same whether it is wanted or not: a few are faster in vectors.
      while (end - row > Isa::kFewRows) {
        const std::int64_t count = end - row < kTileRows ? end - row : std::int64_t{kTileRows};
        if (count > kernels::kTileRows) {
          block<2>(row, count, columns);
        } else {
          block<1>(row, count, columns);
        }
        row += count;
      }
    }
    Base::compute(row, end, output);
  }

 private:
  using Tiles = typename Isa::Tiles;
  using Columns = typename Base::Columns;
  static_assert(Base::kVectors == 2 && Isa::kOutputs == kInt8Panel);
  /// Inputs that a tile holds of a row. Of other multiples there is none: they go to vectors.
  static constexpr std::int64_t kStep = kernels::kTileRows * kInt8Group;
  static constexpr std::int64_t kGroupBytes = kInt8Panel * kInt8Group;

  /// `kHigh` tiles of rows, of which `count` are wanted. Tiles 0 to 3 are sums, 4 and 5 rows, 6 and 7 weights.
  template <int kHigh>
  [[gnu::always_inline]] void block(std::int64_t row, std::int64_t count, const Columns& columns) const noexcept {
    Tiles::template load<0>(columns.corrections[0], 0);  // every row the same
    Tiles::template load<1>(columns.corrections[1], 0);
    if constexpr (kHigh == 2) {
      Tiles::template load<2>(columns.corrections[0], 0);
      Tiles::template load<3>(columns.corrections[1], 0);
    }
    const auto* const codes = this->codes_ + row * this->stride_;
    for (std::int64_t input = 0; input < this->stride_; input += kStep) {
      Tiles::template load<6>(columns.codes[0] + input * kInt8Panel, kGroupBytes);
      Tiles::template load<4>(codes + input, this->stride_);
      Tiles::template multiply_codes<0, 4, 6>();
      Tiles::template load<7>(columns.codes[1] + input * kInt8Panel, kGroupBytes);
      Tiles::template multiply_codes<1, 4, 7>();
      if constexpr (kHigh == 2) {
        Tiles::template load<5>(codes + kernels::kTileRows * this->stride_ + input, this->stride_);
        Tiles::template multiply_codes<2, 5, 6>();
        Tiles::template multiply_codes<3, 5, 7>();
      }
    }
    alignas(64) std::int32_t sums[kHigh * kernels::kTileRows][Base::kSums];
    Tiles::template store<0>(sums[0], sizeof sums[0]);
    Tiles::template store<1>(sums[0] + kInt8Panel, sizeof sums[0]);
    if constexpr (kHigh == 2) {
      Tiles::template store<2>(sums[kernels::kTileRows], sizeof sums[0]);
      Tiles::template store<3>(sums[kernels::kTileRows] + kInt8Panel, sizeof sums[0]);
    }
    for (std::int64_t r = 0; r < count; ++r) {
      this->finish(row + r, columns, sums[r]);
    }
  }
};

}  // namespace weft::kernels
