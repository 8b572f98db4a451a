// SPDX-License-Identifier: Apache-2.0
// A product of int8 numbers in one instruction set: the rows of x become codes, then tiles of sums are computed in
// items of some rows and outputs.
#pragma once

#include <cstdint>

#include "weft/kernels/int8/instances.h"
#include "weft/kernels/int8/product.h"
#include "weft/kernels/int8/rows.h"
#include "weft/kernels/int8/tile.h"
#include "weft/kernels/int8/tile_blocks.h"
#include "weft/kernels/storage.h"

namespace weft::kernels {

template <class Isa>
concept HasCodeTiles = requires { typename Isa::Tiles; };

/// Who computes sums: vectors, or tiles where the instruction set has them.
template <class Isa, class Storage, Int8Function kFunction, bool kGated>
struct SumsOf {
  using Type = Int8Tile<Isa, Storage, kFunction, kGated>;
};
template <HasCodeTiles Isa, class Storage, Int8Function kFunction, bool kGated>
struct SumsOf<Isa, Storage, kFunction, kGated> {
  using Type = Int8TileBlocks<Isa, Storage, kFunction, kGated>;
};

template <class Isa, class Storage>
class Int8Run {
 public:
  Int8Run(const Int8Product& call, const ParallelFor& parallel) noexcept
      : call_(call),
        parallel_(parallel),
        stride_(padded_inputs(call.weight.inputs)),
        scales_(static_cast<float*>(call.workspace)),
        codes_(reinterpret_cast<typename Isa::Code*>(scales_ + call.rows)) {}

  void run() const noexcept {
    // A core multiplies so many codes in about a microsecond: less is not worth a thread.
    constexpr std::int64_t kGrain = 16384;
    parallel_for(parallel_, call_.rows, kGrain / stride_ + 1, [this](std::int64_t begin, std::int64_t end) {
      const auto* x = static_cast<const typename Storage::Memory*>(call_.x);
      for (std::int64_t row = begin; row < end; ++row) {
        scales_[row] =
            CodedRow<Isa, Storage>::write(x + row * call_.weight.inputs, call_.weight.inputs, codes_ + row * stride_);
      }
    });
    switch (call_.function) {
      case Int8Function::kNone:
        return with_gate<Int8Function::kNone>();
      case Int8Function::kGelu:
        return with_gate<Int8Function::kGelu>();
      case Int8Function::kGeluNew:
        return with_gate<Int8Function::kGeluNew>();
      case Int8Function::kQuickGelu:
        return with_gate<Int8Function::kQuickGelu>();
      case Int8Function::kRelu:
        return with_gate<Int8Function::kRelu>();
      case Int8Function::kSilu:
        return with_gate<Int8Function::kSilu>();
    }
  }

 private:
  template <Int8Function kFunction>
  void with_gate() const noexcept {
    if (call_.is_gated) {
      multiply<kFunction, true>();
    } else {
      multiply<kFunction, false>();
    }
  }

  template <Int8Function kFunction, bool kGated>
  void multiply() const noexcept {
    using Tile = typename SumsOf<Isa, Storage, kFunction, kGated>::Type;
    const Tile tile(call_, codes_, scales_);
    // The codes of a block of rows stay in the second cache while all weights go by.
    constexpr std::int64_t kBlock = 4 * Tile::kTileRows;
    constexpr std::int64_t kWork = 1 << 18;  // codes that an item multiplies at least
    const std::int64_t written = kGated ? call_.outputs / 2 : call_.outputs;
    const std::int64_t tiles = (written + Tile::kWritten - 1) / Tile::kWritten;
    const std::int64_t blocks = (call_.rows + kBlock - 1) / kBlock;
    const std::int64_t of_tile = (call_.rows < kBlock ? call_.rows : kBlock) * Tile::kVectors * Isa::kOutputs * stride_;
    const std::int64_t wanted = blocks >= 4 * parallel_.threads() ? 1 : 4 * parallel_.threads();
    std::int64_t turn = (tiles + wanted - 1) / wanted;  // tiles of an item
    turn = turn * of_tile < kWork ? kWork / (of_tile + 1) + 1 : turn;
    const std::int64_t turns = (tiles + turn - 1) / turn;
    parallel_for(parallel_, blocks * turns, 1, [&](std::int64_t begin, std::int64_t end) {
      [[maybe_unused]] const typename Tile::Session session;
      for (std::int64_t item = begin; item < end; ++item) {
        const std::int64_t row = item / turns * kBlock;
        const std::int64_t last = row + kBlock < call_.rows ? row + kBlock : call_.rows;
        const std::int64_t first = item % turns * turn;
        for (std::int64_t one = first; one < first + turn && one < tiles; ++one) {
          tile.compute(row, last, one * Tile::kWritten);
        }
      }
    });
  }

  const Int8Product& call_;
  const ParallelFor& parallel_;
  std::int64_t stride_;
  float* scales_;              // of the rows of x
  typename Isa::Code* codes_;  // [rows][stride]
};

/// Rows of a tile, up to a multiple of which the workspace has room.
template <class Isa>
inline constexpr std::int64_t kRowsOfWorkspace = 1;
template <HasCodeTiles Isa>
inline constexpr std::int64_t kRowsOfWorkspace<Isa> =
    Int8TileBlocks<Isa, PlainStorage<float>, Int8Function::kNone, false>::kTileRows;

template <class Isa>
void run_int8_product(const Int8Product& call, const ParallelFor& parallel) noexcept {
  if (call.dtype == DType::kBFloat16) {
    Int8Run<Isa, BFloat16Storage>(call, parallel).run();
  } else {
    Int8Run<Isa, PlainStorage<float>>(call, parallel).run();
  }
}

/// What a file of an instruction set offers.
template <class Isa>
inline constexpr Int8Kernels kInt8KernelsOf{run_int8_product<Isa>, sizeof(typename Isa::Code), kRowsOfWorkspace<Isa>};

}  // namespace weft::kernels
