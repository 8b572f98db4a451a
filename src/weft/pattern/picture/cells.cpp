// SPDX-License-Identifier: Apache-2.0
// Walks the blocks of one group row by row: a row of a block is 64 bits, cut to what is shown and dealt out to cells.
#include "weft/pattern/picture/cells.h"

#include <algorithm>
#include <bit>

namespace weft::pattern {
namespace {

/// The 64 keys of one row of a block as bits.
std::uint64_t row_bits(const BlockLayout& layout, std::int32_t kind, std::int64_t row) {
  if (is_full(kind)) {
    return ~std::uint64_t{0};
  }
  if (is_partial(kind)) {
    return layout.mask_bits[static_cast<std::size_t>(kind * kPictureTile + row)];
  }
  const auto base = static_cast<std::size_t>((weight_index(kind) * kPictureTile + row) * kPictureTile);
  std::uint64_t bits = 0;
  for (std::size_t key = 0; key < kPictureTile; ++key) {
    bits |= static_cast<std::uint64_t>(layout.log_weight[base + key] >= 0.0F) << key;
  }
  return bits;
}

/// The lowest `count` bits.
std::uint64_t low_bits(std::int64_t count) {
  return count >= kPictureTile ? ~std::uint64_t{0} : (std::uint64_t{1} << std::max<std::int64_t>(count, 0)) - 1;
}

class CellCounter {
 public:
  CellCounter(const BlockLayout& layout, const Picture& picture)
      : layout_(layout), picture_(picture), cells_(static_cast<std::size_t>(picture.rows * picture.columns)) {}

  void add_group(std::int64_t group) {
    const std::int64_t first_block = picture_.queries.begin / kPictureTile;
    const std::int64_t end_block = (picture_.queries.end + kPictureTile - 1) / kPictureTile;
    for (std::int64_t query_block = first_block; query_block < end_block; ++query_block) {
      const auto row = static_cast<std::size_t>(group * layout_.query_blocks() + query_block);
      for (std::int64_t block = layout_.row_begin[row]; block < layout_.row_begin[row + 1]; ++block) {
        add_block(query_block, block);
      }
    }
  }

  const std::vector<CellCount>& cells() const { return cells_; }

 private:
  void add_block(std::int64_t query_block, std::int64_t block) {
    const std::int64_t key_begin = layout_.key_block[static_cast<std::size_t>(block)] * kPictureTile;
    const std::int32_t kind = layout_.kind[static_cast<std::size_t>(block)];
    const std::uint64_t inside = low_bits(picture_.keys.end - key_begin) & ~low_bits(picture_.keys.begin - key_begin);
    if (picture_.keys.end <= key_begin || inside == 0) {
      return;
    }
    const std::int64_t begin = std::max(query_block * kPictureTile, picture_.queries.begin);
    const std::int64_t end = std::min((query_block + 1) * kPictureTile, picture_.queries.end);
    for (std::int64_t query = begin; query < end; ++query) {
      add_row(query, key_begin, row_bits(layout_, kind, query % kPictureTile) & inside);
    }
  }

  void add_row(std::int64_t query, std::int64_t key_begin, std::uint64_t bits) {
    const std::int64_t step = std::min(picture_.cell, kPictureTile);
    const std::int64_t row = (query - picture_.queries.begin) / picture_.cell;
    for (std::int64_t offset = 0; bits != 0 && offset < kPictureTile; offset += step) {
      const std::uint64_t piece = (bits >> offset) & low_bits(step);
      if (piece != 0) {
        const std::int64_t column = (key_begin + offset - picture_.keys.begin) / picture_.cell;
        note(cells_[static_cast<std::size_t>(row * picture_.columns + column)], query, key_begin + offset, piece);
      }
    }
  }

  void note(CellCount& cell, std::int64_t query, std::int64_t key, std::uint64_t piece) const {
    const PictureEdge first{query, key + std::countr_zero(piece)};
    if (cell.edges == 0) {
      cell.first = first;
    }
    if (cell.edges == 0 || (query - picture_.queries.begin) % picture_.cell == picture_.cell / 2) {
      cell.middle = first;
    }
    cell.last = {query, key + kPictureTile - 1 - std::countl_zero(piece)};
    cell.edges += std::popcount(piece);
  }

  const BlockLayout& layout_;
  const Picture& picture_;
  std::vector<CellCount> cells_;
};

}  // namespace

std::vector<CellCount> count_cells(const BlockLayout& layout, const Picture& picture, std::int64_t group) {
  CellCounter counter(layout, picture);
  counter.add_group(group);
  return counter.cells();
}

}  // namespace weft::pattern
