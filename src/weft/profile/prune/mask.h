// SPDX-License-Identifier: Apache-2.0
// Which cells of a grid are kept, for each head: cells are edges, or blocks of edges.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::profile {

/// Bits [heads][rows][columns], none set at first; rows begin at whole words.
class Mask {
 public:
  Mask() = default;
  /// `cell` positions on each side of a cell, over `queries` x `keys` positions.
  Mask(std::int64_t heads, std::int64_t queries, std::int64_t keys, std::int64_t cell)
      : cell_(cell),
        heads_(heads),
        rows_((queries + cell - 1) / cell),
        columns_((keys + cell - 1) / cell),
        words_((columns_ + 63) / 64),
        bits_(static_cast<std::size_t>(heads * rows_ * words_)) {}

  std::int64_t cell() const noexcept { return cell_; }
  std::int64_t heads() const noexcept { return heads_; }
  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t columns() const noexcept { return columns_; }

  void set(std::int64_t head, std::int64_t row, std::int64_t column) {
    bits_[word(head, row, column)] |= std::uint64_t{1} << (column % 64);
  }
  bool test(std::int64_t head, std::int64_t row, std::int64_t column) const {
    return (bits_[word(head, row, column)] >> (column % 64) & 1) != 0;
  }

  /// Bit b says whether the edge of `query` to the key 64 * block + b is in a cell that is kept.
  std::uint64_t keys_of(std::int64_t head, std::int64_t query, std::int64_t block) const {
    const std::int64_t row = query / cell_;
    if (cell_ == 1) {
      return bits_[word(head, row, block * 64)];
    }
    if (cell_ % 64 == 0) {
      return test(head, row, block * 64 / cell_) ? ~std::uint64_t{0} : 0;
    }
    std::uint64_t kept = 0;
    for (std::int64_t bit = 0; bit < 64 && (block * 64 + bit) / cell_ < columns_; ++bit) {
      kept |= std::uint64_t{test(head, row, (block * 64 + bit) / cell_) ? 1U : 0U} << bit;
    }
    return kept;
  }

 private:
  std::size_t word(std::int64_t head, std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>((head * rows_ + row) * words_ + column / 64);
  }

  std::int64_t cell_ = 1;
  std::int64_t heads_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::int64_t words_ = 0;
  std::vector<std::uint64_t> bits_;
};

}  // namespace weft::profile
