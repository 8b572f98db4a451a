// SPDX-License-Identifier: Apache-2.0
// From blocks to rows of words, and the transpose in squares of 64 x 64 bits.
#include "weft/inspect/graph/word_rows.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "weft/core/error.h"
#include "weft/pattern/interval.h"

namespace weft::inspect {
namespace {

constexpr std::int64_t kSquareSide = 64;
using Square = std::array<std::uint64_t, kSquareSide>;

/// One row being put together from the words of several heads.
class RowBuilder {
 public:
  RowBuilder(WordRows& rows, std::int64_t words) : rows_(rows), sum_(static_cast<std::size_t>(words), 0) {}

  void add(std::uint32_t index, std::uint64_t bits) {
    if (sum_[index] == 0 && bits != 0) {
      touched_.push_back(index);
    }
    sum_[index] |= bits;
  }

  void finish() {
    if (!std::is_sorted(touched_.begin(), touched_.end())) {
      std::sort(touched_.begin(), touched_.end());
    }
    for (const std::uint32_t index : touched_) {
      rows_.index.push_back(index);
      rows_.bits.push_back(std::exchange(sum_[index], 0));
    }
    touched_.clear();
    rows_.begin.push_back(rows_.words());
    require(rows_.words() <= kMaximumWords, "pattern: the graph of ", rows_.positions, " positions has more than ",
            kMaximumWords, " words of 64 pairs; take a shorter length");
  }

 private:
  WordRows& rows_;
  std::vector<std::uint64_t> sum_;
  std::vector<std::uint32_t> touched_;
};

/// The groups that the heads use, each once.
std::vector<std::int64_t> groups_of(const pattern::BlockLayout& layout, std::span<const std::int64_t> heads) {
  std::vector<std::int64_t> groups;
  for (const std::int64_t head : heads) {
    groups.push_back(layout.group[static_cast<std::size_t>(head)]);
  }
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

/// Rows and columns change places (Hacker's Delight, 7-3): blocks of half the side are swapped, six times.
void transpose(Square& square) {
  std::uint64_t mask = 0x00000000FFFFFFFF;
  for (std::size_t half = 32; half != 0; half /= 2, mask ^= mask << half) {
    for (std::size_t row = 0; row < kSquareSide; row = ((row | half) + 1) & ~half) {
      const std::uint64_t swapped = ((square[row] >> half) ^ square[row | half]) & mask;
      square[row] ^= swapped << half;
      square[row | half] ^= swapped;
    }
  }
}

/// Calls `visit(column, row word index, bits)` for the words of the transposed graph; indices ascend for each column.
template <typename Visit>
void for_each_transposed(const WordRows& rows, const Visit& visit) {
  std::vector<std::int32_t> square_of(static_cast<std::size_t>(pattern::ceil_divide(rows.positions, kSquareSide)), -1);
  std::vector<std::uint32_t> touched;
  std::vector<Square> squares;
  for (std::int64_t first = 0; first < rows.positions; first += kSquareSide) {
    for (std::int64_t row = first; row < std::min(first + kSquareSide, rows.positions); ++row) {
      for (auto word = static_cast<std::size_t>(rows.begin[static_cast<std::size_t>(row)]);
           word < static_cast<std::size_t>(rows.begin[static_cast<std::size_t>(row) + 1]); ++word) {
        std::int32_t& square = square_of[rows.index[word]];
        if (square < 0) {
          square = static_cast<std::int32_t>(touched.size());
          touched.push_back(rows.index[word]);
          squares.emplace_back();
        }
        squares[static_cast<std::size_t>(square)][static_cast<std::size_t>(row - first)] = rows.bits[word];
      }
    }
    for (std::size_t i = 0; i < touched.size(); ++i) {
      // Rows beyond the last position stay zero in a square, and so do their columns afterwards.
      transpose(squares[i]);
      for (std::size_t column = 0; column < kSquareSide; ++column) {
        if (squares[i][column] != 0) {
          visit(kSquareSide * touched[i] + static_cast<std::int64_t>(column),
                static_cast<std::uint32_t>(first / kSquareSide), squares[i][column]);
        }
      }
      square_of[touched[i]] = -1;
    }
    touched.clear();
    squares.clear();
  }
}

/// Twice over the edges: first to count the words of each row, then to place them.
WordRows transposed(const WordRows& rows) {
  WordRows result;
  result.positions = rows.positions;
  result.begin.assign(static_cast<std::size_t>(rows.positions) + 1, 0);
  for_each_transposed(rows, [&](std::int64_t column, std::uint32_t, std::uint64_t) {
    ++result.begin[static_cast<std::size_t>(column) + 1];
  });
  std::partial_sum(result.begin.begin(), result.begin.end(), result.begin.begin());
  result.index.resize(static_cast<std::size_t>(result.begin.back()));
  result.bits.resize(result.index.size());
  std::vector<std::int64_t> next(result.begin.begin(), result.begin.end() - 1);
  for_each_transposed(rows, [&](std::int64_t column, std::uint32_t index, std::uint64_t bits) {
    const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(column)]++);
    result.index[at] = index;
    result.bits[at] = bits;
  });
  return result;
}

}  // namespace

WordRows word_rows(const pattern::BlockLayout& layout, std::span<const std::int64_t> heads) {
  require(layout.tile == pattern::Tile{64, 64}, "pattern: a graph is made from tiles of 64 x 64, found ",
          layout.tile.query, " x ", layout.tile.key);
  require(layout.query_length == layout.key_length && layout.query_offset == 0,
          "pattern: a graph needs as many queries as keys and no offset, found ", layout.query_length, " and ",
          layout.key_length, ", offset ", layout.query_offset);
  WordRows rows;
  rows.positions = layout.query_length;
  rows.begin.push_back(0);
  RowBuilder builder(rows, layout.key_blocks());
  const std::vector<std::int64_t> groups = groups_of(layout, heads);
  for (std::int64_t query = 0; query < rows.positions; ++query) {
    for (const std::int64_t group : groups) {
      const auto row = static_cast<std::size_t>(group * layout.query_blocks() + query / kSquareSide);
      for (auto block = static_cast<std::size_t>(layout.row_begin[row]);
           block < static_cast<std::size_t>(layout.row_begin[row + 1]); ++block) {
        const std::int64_t first = kSquareSide * layout.key_block[block];
        const std::uint64_t self =
            query / kSquareSide == layout.key_block[block] ? std::uint64_t{1} << (query % kSquareSide) : 0;
        builder.add(static_cast<std::uint32_t>(layout.key_block[block]),
                    pattern::keys_of_row(layout, layout.kind[block], query % kSquareSide) &
                        pattern::low_bits(rows.positions - first) & ~self);
      }
    }
    builder.finish();
  }
  return rows;
}

WordRows symmetrised(const WordRows& rows) {
  const WordRows other = transposed(rows);
  WordRows both;
  both.positions = rows.positions;
  both.begin.push_back(0);
  const auto most = static_cast<std::size_t>(rows.words() + other.words());
  both.index.reserve(most);
  both.bits.reserve(most);
  RowBuilder builder(both, pattern::ceil_divide(rows.positions, kSquareSide));
  for (std::size_t position = 0; position < static_cast<std::size_t>(rows.positions); ++position) {
    for (const WordRows* each : {&rows, &other}) {
      for (auto word = static_cast<std::size_t>(each->begin[position]);
           word < static_cast<std::size_t>(each->begin[position + 1]); ++word) {
        builder.add(each->index[word], each->bits[word]);
      }
    }
    builder.finish();
  }
  return both;
}

std::vector<std::int64_t> degrees(const WordRows& rows) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(rows.positions), 0);
  for (std::size_t position = 0; position < result.size(); ++position) {
    for (auto word = static_cast<std::size_t>(rows.begin[position]);
         word < static_cast<std::size_t>(rows.begin[position + 1]); ++word) {
      result[position] += std::popcount(rows.bits[word]);
    }
  }
  return result;
}

std::vector<std::int64_t> incoming_degrees(const WordRows& rows) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(rows.positions), 0);
  for_each_transposed(rows, [&](std::int64_t column, std::uint32_t, std::uint64_t bits) {
    result[static_cast<std::size_t>(column)] += std::popcount(bits);
  });
  return result;
}

}  // namespace weft::inspect
