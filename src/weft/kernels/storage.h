// SPDX-License-Identifier: Apache-2.0
// How each DType lies in memory and what it is summed in: float32 for float32, bfloat16 and float16, float64 for
// float64. No STL container here: files compiled for one instruction set include this header.
#pragma once

#include <bit>
#include <cstdint>

#include "weft/kernels/arguments.h"

namespace weft::kernels {

template <typename Number>
struct PlainStorage {
  using Memory = Number;
  using Sum = Number;
  static Sum load(const Memory* memory) noexcept { return *memory; }
  static void store(Memory* memory, Sum value) noexcept { *memory = value; }
};

struct BFloat16Storage {
  using Memory = std::uint16_t;
  using Sum = float;
  static Sum load(const Memory* memory) noexcept { return std::bit_cast<float>(std::uint32_t{*memory} << 16); }
  /// Rounds to the nearest, ties to even; NaN stays NaN.
  static void store(Memory* memory, Sum value) noexcept {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = bits + 0x7FFF + ((bits >> 16) & 1);
    *memory = static_cast<Memory>(value != value ? 0x7FC0 : rounded >> 16);
  }
};

struct Float16Storage {
  using Memory = _Float16;
  using Sum = float;
  static Sum load(const Memory* memory) noexcept { return static_cast<float>(*memory); }
  static void store(Memory* memory, Sum value) noexcept { *memory = static_cast<_Float16>(value); }
};

/// Calls `work` with the storage of `dtype` as a value.
template <typename Work>
void with_storage(DType dtype, const Work& work) noexcept {
  switch (dtype) {
    case DType::kFloat32:
      return work(PlainStorage<float>{});
    case DType::kFloat64:
      return work(PlainStorage<double>{});
    case DType::kBFloat16:
      return work(BFloat16Storage{});
    case DType::kFloat16:
      return work(Float16Storage{});
  }
}

}  // namespace weft::kernels
