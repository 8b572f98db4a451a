// SPDX-License-Identifier: Apache-2.0
// A tile of sums in registers: some rows by two vectors of outputs over all inputs, then scales, bias and function.
#pragma once

#include <cstdint>

#include "weft/kernels/int8/functions.h"
#include "weft/kernels/int8/product.h"
#include "weft/kernels/isa/units.h"
#include "weft/kernels/storage.h"

namespace weft::kernels {

template <class Isa, class Storage, Int8Function kFunction, bool kGated>
class Int8Tile {
 public:
  using Code = typename Isa::Code;
  using Memory = typename Storage::Memory;
  using Vector = typename Isa::Vector;
  /// With a gate one vector of sums is the gate of the other.
  static constexpr int kVectors = kGated ? 2 : Isa::kVectors;
  static constexpr int kTileRows = Isa::kTileRows * Isa::kVectors / kVectors;
  /// Outputs of y that a tile writes.
  static constexpr std::int64_t kWritten = kGated ? Isa::kOutputs : kVectors * Isa::kOutputs;
  using Session = NoSession;

  /// `codes` and `scales` are those of all rows of x.
  Int8Tile(const Int8Product& call, const Code* codes, const float* scales) noexcept
      : call_(call), codes_(codes), scales_(scales), stride_(padded_inputs(call.weight.inputs)) {}

  /// Rows [row, end) of y, outputs [output, output + kWritten) as far as there are so many.
  void compute(std::int64_t row, std::int64_t end, std::int64_t output) const noexcept {
    const Columns columns = columns_of(output);
    for (; row + kTileRows <= end; row += kTileRows) {
      tile<kTileRows>(row, columns);
    }
    for (; row + Isa::kFewRows <= end; row += Isa::kFewRows) {
      tile<Isa::kFewRows>(row, columns);
    }
    for (; row < end; ++row) {
      tile<1>(row, columns);
    }
  }

 protected:
  static constexpr std::int64_t kSums = kVectors * Isa::kOutputs;

  /// What a tile's outputs need, in the order of its sums.
  struct Columns {
    const std::int8_t* codes[kVectors];
    const std::int32_t* corrections[kVectors];
    float scales[kSums];
    float biases[kSums];
    std::int64_t output;
    std::int64_t count;  // of outputs that are written
  };

  std::int64_t written() const noexcept { return kGated ? call_.outputs / 2 : call_.outputs; }

  Columns columns_of(std::int64_t output) const noexcept {
    Columns columns;
    columns.output = output;
    columns.count = written() - output < kWritten ? written() - output : kWritten;
    for (int vector = 0; vector < kVectors; ++vector) {
      const std::int64_t apart = kGated ? call_.outputs / 2 : Isa::kOutputs;
      // Beyond the last panel the first one is multiplied once more, and nothing of it written.
      const std::int64_t wanted = output + vector * apart;
      const std::int64_t first = wanted < call_.outputs ? wanted : 0;
      const std::int64_t of_weight = call_.first + first;
      columns.codes[vector] = call_.weight.codes + place_of_code(of_weight, 0, stride_);
      columns.corrections[vector] = call_.weight.corrections + of_weight;
      for (int i = 0; i < Isa::kOutputs; ++i) {
        const bool exists = first + i < call_.outputs;
        columns.scales[vector * Isa::kOutputs + i] = call_.weight.scales[of_weight + i];
        columns.biases[vector * Isa::kOutputs + i] = exists && call_.bias != nullptr ? call_.bias[first + i] : 0.0F;
      }
    }
    return columns;
  }

  template <int kRows>
  [[gnu::always_inline]] void tile(std::int64_t row, const Columns& columns) const noexcept {
    typename Isa::Sums sums[kRows][kVectors];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      for (int vector = 0; vector < kVectors; ++vector) {
        sums[r][vector] = Isa::begin(columns.corrections[vector]);
      }
    }
    // An address for three rows: the other two are one and two strides behind it, which an instruction adds by itself.
    constexpr int kAddresses = (kRows + 2) / 3;
    const Code* codes[kAddresses];
    for (int i = 0; i < kAddresses; ++i) {
      codes[i] = codes_ + (row + i * std::int64_t{3}) * stride_;
    }
    std::int64_t place = 0;
    for (std::int64_t group = 0; group < stride_; group += kInt8Group, place += kInt8Panel * kInt8Group) {
      typename Isa::Weights weights[kVectors];
      for (int vector = 0; vector < kVectors; ++vector) {
        weights[vector] = Isa::weights(columns.codes[vector] + place);
      }
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const typename Isa::Inputs inputs = Isa::spread(codes[r / 3] + r % 3 * stride_);
        for (int vector = 0; vector < kVectors; ++vector) {
          Isa::add_products(sums[r][vector], weights[vector], inputs);
        }
      }
      for (int i = 0; i < kAddresses; ++i) {
        codes[i] += kInt8Group;
        asm("" : "+r"(codes[i]));  // else GCC makes an address a row, more than there are registers for
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      std::int32_t whole[kSums];
      for (int vector = 0; vector < kVectors; ++vector) {
        Isa::store_sums(whole + vector * Isa::kOutputs, sums[r][vector]);
      }
      finish(row + r, columns, whole);
    }
  }

  /// The number that sums `at` and those behind it stand for.
  [[gnu::always_inline]] static Vector number(const Columns& columns, const std::int32_t* whole, std::int64_t at,
                                              Vector scale) noexcept {
    const Vector both = Isa::multiply(scale, Isa::load(columns.scales + at));
    return Isa::multiply_add(Isa::widen(whole + at), both, Isa::load(columns.biases + at));
  }

  [[gnu::always_inline]] void finish(std::int64_t row, const Columns& columns,
                                     const std::int32_t* whole) const noexcept {
    const Vector scale = Isa::set(scales_[row]);
    Memory* const to = static_cast<Memory*>(call_.y) + row * written() + columns.output;
    Memory all[kWritten];
    const bool is_whole = columns.count == kWritten;
    Memory* const out = is_whole ? to : all;
#pragma GCC unroll 16
    for (std::int64_t at = 0; at < kWritten; at += Isa::kLanes) {
      Vector value = applied<Isa, kFunction>(number(columns, whole, at, scale));
      if constexpr (kGated) {
        value = Isa::multiply(value, number(columns, whole, at + Isa::kOutputs, scale));
      }
      Isa::narrow(out + at, value);
    }
    for (std::int64_t i = 0; !is_whole && i < columns.count; ++i) {
      to[i] = all[i];
    }
  }

  const Int8Product& call_;
  const Code* codes_;
  const float* scales_;
  std::int64_t stride_;
};

}  // namespace weft::kernels
