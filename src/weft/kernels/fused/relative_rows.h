// SPDX-License-Identifier: Apache-2.0
// R of a relative product, packed once a call as both sides of products. Before its first row and behind its last one
// are copies of them, so that the distances of any panel, 95 neighbours, are a window of it: beyond either end they are
// all alike, and the window stops there.
#pragma once

#include <cstdint>

#include "weft/kernels/fused/matrix.h"
#include "weft/kernels/relative_product.h"

namespace weft::kernels {

template <class Isa, class Storage>
class RelativeRows {
  using Memory = typename Storage::Memory;
  using Packer = MatrixPacker<Isa, Memory>;
  using Unit = typename Packer::Unit;

 public:
  /// Rows of a window that products read: 95 in whole tiles, and 16 more that a tile may touch.
  static constexpr std::int64_t kRows = kTile + kPanel + 16;

  RelativeRows(const AttentionArguments& arguments, const ParallelFor& parallel) noexcept
      : arguments_(arguments),
        rows_(has_relative(arguments) ? 2 * kRows + arguments.relative.span : 0),
        stride_(Packer::padded(Packer::units(arguments.head_dim))),
        width_(Packer::padded(arguments.head_dim)),
        left_(arguments.heads * rows_ * stride_),
        pairs_(Packer::kPairs ? arguments.heads * 2 * (rows_ / 2) * width_ : 0),
        invalid_(arguments.heads * rows_) {
    if (is_there() && rows_ > 0) {
      parallel_for(parallel, arguments.heads, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t head = begin; head < end; ++head) {
          pack(head);
        }
      });
    }
  }

  bool is_there() const noexcept { return left_.is_there() && pairs_.is_there() && invalid_.is_there(); }
  /// With the copies; of a head.
  std::int64_t count() const noexcept { return rows_; }
  std::int64_t width() const noexcept { return width_; }

  /// Of which entry a row is, or a copy.
  std::int64_t entry_of(std::int64_t row) const noexcept {
    return larger(0, smaller(row - kRows, arguments_.relative.span - 1));
  }

  /// Rows from that of an entry on.
  struct Window {
    std::int64_t row;    ///< of count()
    Operand<Unit> left;  ///< rows as they are
    const Unit* steps;   ///< a right operand: each row, or pair of rows, is a step
    std::int64_t step_stride;
    const std::uint8_t* invalid;  ///< 1 for rows that hold NaN or infinity, and count as zero

    [[gnu::always_inline]] const Unit* step(std::int64_t row_of_window) const noexcept {
      return steps + row_of_window / Packer::Units::kPerUnit * step_stride;
    }
  };
  Window window(std::int64_t head, std::int64_t entry) const noexcept {
    const std::int64_t row = larger(-kRows, smaller(entry, arguments_.relative.span)) + kRows;
    const Unit* left = left_.data() + (head * rows_ + row) * stride_;
    const Unit* steps = left;
    if constexpr (Packer::kPairs) {
      steps = pairs_.data() + ((head * 2 + row % 2) * (rows_ / 2) + row / 2) * width_;
    }
    return {row, {left, stride_, 1}, steps, Packer::kPairs ? width_ : stride_, invalid_.data() + head * rows_ + row};
  }
  /// Whether all rows of a window are alike.
  bool is_constant(std::int64_t entry) const noexcept {
    return entry + kTile + kPanel <= 1 || entry >= arguments_.relative.span - 1;
  }

 private:
  const Memory* source(std::int64_t head, std::int64_t row) const noexcept {
    return relative_row<Storage>(arguments_, head, entry_of(row));
  }

  void pack(std::int64_t head) noexcept {
    std::uint8_t* invalid = invalid_.data() + head * rows_;
    for (std::int64_t row = 0; row < rows_; ++row) {
      Rows<Memory> rows{source(head, row), 0, 1, arguments_.head_dim};
      invalid[row] = Packer::invalid(rows) != 0 ? 1 : 0;
      rows.hidden = invalid[row];
      Packer::copy_row(rows, 0, left_.data() + (head * rows_ + row) * stride_);
    }
    if constexpr (Packer::kPairs) {
      for (std::int64_t row = 0; row + 1 < rows_; ++row) {
        const Memory* even = source(head, row);
        const std::uint64_t hidden = std::uint64_t{invalid[row]} | std::uint64_t{invalid[row + 1]} << 1;
        if (row / 2 < rows_ / 2) {
          Packer::pair_rows({even, source(head, row + 1) - even, 2, arguments_.head_dim, hidden}, 0,
                            pairs_.data() + ((head * 2 + row % 2) * (rows_ / 2) + row / 2) * width_);
        }
      }
    }
  }

  const AttentionArguments& arguments_;
  std::int64_t rows_;
  std::int64_t stride_;
  std::int64_t width_;
  Buffer<Isa, Unit> left_;   // [head][row][stride_]
  Buffer<Isa, Unit> pairs_;  // [head][first row even or odd][pair of rows][width_]
  Buffer<Isa, std::uint8_t> invalid_;
};

}  // namespace weft::kernels
