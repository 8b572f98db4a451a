// SPDX-License-Identifier: Apache-2.0
// Sums over large matrices in the vectors of one instruction set, in the order of memory: LibTorch's sum of columns
// goes down a few of them at a time, which takes 30 ms for [4,096, 3,072] in bfloat16.
#pragma once

#include <cstdint>

#include "weft/kernels/elements/sums.h"
#include "weft/kernels/fused/matrix.h"
#include "weft/kernels/storage.h"

namespace weft::kernels {

template <class Isa, class Storage>
class ColumnPass {
  using Memory = typename Storage::Memory;
  using Vector = typename Isa::Vector;

 public:
  explicit ColumnPass(const ColumnSums& call) noexcept : call_(call) {}

  void run() noexcept {
    const auto* x = static_cast<const Memory*>(call_.x);
    for (std::int64_t first = 0; first < call_.columns; first += kColumns) {
      const std::int64_t rest = call_.columns - first;
      run_columns(x + first, call_.sums + first, rest < kColumns ? rest : kColumns);
    }
  }

 private:
  static constexpr std::int64_t kColumns = 1024;  // whose sums stay in the first-level cache
  static constexpr std::int64_t kRows = 64;

  void run_columns(const Memory* x, float* sums, std::int64_t columns) noexcept {
    for (std::int64_t column = 0; column < columns; ++column) {
      sums[column] = 0.0F;
    }
    for (std::int64_t row = 0; row < call_.rows; row += kRows) {
      const std::int64_t rest = call_.rows - row;
      add_rows(x + row * call_.stride, columns, rest < kRows ? rest : kRows);
      for (std::int64_t column = 0; column < columns; column += Isa::kLanes) {
        const std::int64_t count = columns - column;
        const Vector sum = Isa::add(widen_part<Isa>(sums + column, count), Isa::load(some_ + column));
        narrow_part<Isa>(sums + column, sum, count);
      }
    }
  }

  // The sums of a few rows.
  [[gnu::always_inline]] void add_rows(const Memory* x, std::int64_t columns, std::int64_t rows) noexcept {
    for (std::int64_t row = 0; row < rows; ++row, x += call_.stride) {
      for (std::int64_t column = 0; column < columns; column += Isa::kLanes) {
        const Vector value = widen_part<Isa>(x + column, columns - column);
        Isa::store(some_ + column, row == 0 ? value : Isa::add(Isa::load(some_ + column), value));
      }
    }
  }

  const ColumnSums& call_;
  alignas(64) float some_[kColumns];
};

template <class Isa>
void run_column_sums(const ColumnSums& call) noexcept {
  if (call.dtype == DType::kBFloat16) {
    ColumnPass<Isa, BFloat16Storage>(call).run();
  } else {
    ColumnPass<Isa, PlainStorage<float>>(call).run();
  }
}

template <class Isa, typename Memory>
[[gnu::always_inline]] inline void accumulate_numbers(const Accumulation& call) noexcept {
  const auto* part = static_cast<const Memory*>(call.part);
  for (std::int64_t at = 0; at < call.count; at += Isa::kLanes) {
    const std::int64_t count = call.count - at;
    const typename Isa::Vector value = widen_part<Isa>(part + at, count);
    narrow_part<Isa>(call.total + at, call.is_first ? value : Isa::add(widen_part<Isa>(call.total + at, count), value),
                     count);
  }
}

template <class Isa>
void run_accumulation(const Accumulation& call) noexcept {
  if (call.dtype == DType::kBFloat16) {
    accumulate_numbers<Isa, std::uint16_t>(call);
  } else {
    accumulate_numbers<Isa, float>(call);
  }
}

}  // namespace weft::kernels
