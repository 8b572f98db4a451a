// SPDX-License-Identifier: Apache-2.0
// With t[i][j] the length for the first i rows and j columns, bit j - 1 of row i is 1 where t[i][j] = t[i][j - 1], and
// 0 where it is one more. A row follows from the one before by V = (V + (V & M)) | (V & ~M), M the columns that have
// the row's symbol.
#include "weft/metrics/summary/common_subsequence.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "weft/core/error.h"

namespace weft::metrics {
namespace {

constexpr std::size_t kBits = 64;
constexpr std::size_t kMostWords = (std::size_t{1} << 30) / sizeof(std::uint64_t);

using Row = std::vector<std::uint64_t>;

// The table's rows one after another.
class Rows {
 public:
  explicit Rows(const Symbols& columns)
      : row_((columns.size() + kBits - 1) / kBits, ~std::uint64_t{0}), matches_(row_.size()) {
    for (std::size_t column = 0; column < columns.size(); ++column) {
      places_[columns[column]].push_back(column);
    }
  }

  const Row& next(std::uint32_t symbol) {
    const auto found = places_.find(symbol);
    if (found == places_.end()) {
      return row_;
    }
    mark(found->second, true);
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < row_.size(); ++i) {
      const std::uint64_t both = row_[i] & matches_[i];
      const std::uint64_t sum = row_[i] + both;
      const std::uint64_t carried = sum + carry;
      carry = (sum < both ? 1U : 0U) | (carried < carry ? 1U : 0U);
      row_[i] = carried | (row_[i] & ~matches_[i]);
    }
    mark(found->second, false);
    return row_;
  }

 private:
  void mark(const std::vector<std::size_t>& columns, bool on) {
    for (const std::size_t column : columns) {
      const std::uint64_t bit = std::uint64_t{1} << (column % kBits);
      matches_[column / kBits] = on ? matches_[column / kBits] | bit : 0;
    }
  }

  Row row_;
  Row matches_;
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> places_;
};

// t[i][columns]: zeros among the first bits of row i.
std::int64_t length_of(const std::uint64_t* row, std::size_t columns) {
  std::int64_t length = 0;
  for (std::size_t i = 0; i < columns / kBits; ++i) {
    length += std::popcount(~row[i]);
  }
  if (columns % kBits != 0) {
    length += std::popcount(~row[columns / kBits] & ((std::uint64_t{1} << (columns % kBits)) - 1));
  }
  return length;
}

bool grows(const std::uint64_t* row, std::size_t column) { return (row[column / kBits] >> (column % kBits) & 1U) == 0; }

}  // namespace

std::int64_t common_subsequence_length(const Symbols& rows, const Symbols& columns) {
  Rows table(columns);
  const Row* last = nullptr;
  for (const std::uint32_t symbol : rows) {
    last = &table.next(symbol);
  }
  return last == nullptr ? 0 : length_of(last->data(), columns.size());
}

std::vector<std::size_t> common_subsequence(const Symbols& rows, const Symbols& columns) {
  const std::size_t words = (columns.size() + kBits - 1) / kBits;
  require(words == 0 || rows.size() < kMostWords / words,
          "ROUGE-Lsum compares sentences of at most 1 GiB a table of "
          "common words, found sentences of ",
          rows.size(), " and ", columns.size(), " words");
  Row table(words, ~std::uint64_t{0});  // row 0 has no length anywhere
  table.reserve(words * (rows.size() + 1));
  Rows next(columns);
  for (const std::uint32_t symbol : rows) {
    const Row& row = next.next(symbol);
    table.insert(table.end(), row.begin(), row.end());
  }
  std::vector<std::size_t> places;
  std::size_t i = rows.size();
  std::size_t j = columns.size();
  // t[i - 1][j] is counted again only where i changes.
  std::int64_t here = length_of(table.data() + words * i, j);
  std::int64_t above = i == 0 ? 0 : length_of(table.data() + words * (i - 1), j);
  while (i > 0 && j > 0) {
    const std::uint64_t* row = table.data() + words * i;
    const std::int64_t left = here - (grows(row, j - 1) ? 1 : 0);
    const bool equal = rows[i - 1] == columns[j - 1];
    if (!equal && left > above) {
      above -= grows(row - words, j - 1) ? 1 : 0;
      here = left;
      --j;
      continue;
    }
    if (equal) {
      places.push_back(i - 1);
      --j;
    }
    --i;
    here = length_of(table.data() + words * i, j);
    above = i == 0 ? 0 : length_of(table.data() + words * (i - 1), j);
  }
  std::reverse(places.begin(), places.end());
  return places;
}

}  // namespace weft::metrics
