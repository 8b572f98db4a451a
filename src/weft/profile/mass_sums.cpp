// SPDX-License-Identifier: Apache-2.0
// Growing moves each line of an array to where it lies in the larger one; adding grows both to the longer texts first.
#include "weft/profile/mass_sums.h"

#include <functional>
#include <numeric>

#include "weft/core/error.h"

namespace weft::profile {
namespace {

constexpr std::int64_t kMaximumEntries = std::int64_t{1} << 31;

using Numbers = std::vector<std::int64_t>;

std::size_t entries(std::int64_t first, std::int64_t second, std::int64_t third = 1) {
  return static_cast<std::size_t>(first) * static_cast<std::size_t>(second) * static_cast<std::size_t>(third);
}

struct Grid {
  std::int64_t rows;
  std::int64_t columns;
};

// `numbers` [lines, old.rows, old.columns] in the upper left, or `shift` columns on, of [lines, now.rows, now.columns].
Numbers moved(const Numbers& numbers, std::int64_t lines, Grid old, Grid now, std::int64_t shift = 0) {
  Numbers result(entries(lines, now.rows, now.columns));
  if (!numbers.empty()) {
    for (std::int64_t line = 0; line < lines; ++line) {
      for (std::int64_t row = 0; row < old.rows; ++row) {
        const auto* from = numbers.data() + (line * old.rows + row) * old.columns;
        std::copy(from, from + old.columns, result.data() + (line * now.rows + row) * now.columns + shift);
      }
    }
  }
  return result;
}

void add_to(Numbers& sums, const Numbers& others) {
  std::transform(sums.begin(), sums.end(), others.begin(), sums.begin(), std::plus<>());
}

}  // namespace

MassSums::MassSums(const MassShape& shape) : shape_(shape) {
  require(shape.heads >= 1 && shape.tile >= 1 && shape.edge_limit >= 0,
          "profile: heads and tile must be at least 1, and the edge limit at least 0, found ", shape.heads, ", ",
          shape.tile, " and ", shape.edge_limit);
}

MassSums MassSums::sized(const MassShape& shape, std::int64_t queries, std::int64_t keys) {
  MassSums sums(shape);
  sums.queries_ = queries;
  sums.keys_ = keys;
  return sums;
}

std::int64_t MassSums::rows_of(std::int64_t head) const {
  const auto begin = rows.begin() + head * queries_;
  return std::accumulate(begin, begin + queries_, std::int64_t{0});
}

void MassSums::grow(std::int64_t queries, std::int64_t keys) {
  queries = std::max(queries, queries_);
  keys = std::max(keys, keys_);
  if (queries == queries_ && keys == keys_) {
    return;
  }
  const auto fits = [&](std::int64_t lines, std::int64_t columns) {
    return lines <= kMaximumEntries / shape_.heads && columns <= kMaximumEntries / (shape_.heads * lines);
  };
  require(queries >= 1 && keys >= 1 && queries <= kMaximumEntries && keys <= kMaximumEntries &&
              fits(tiles(queries), tiles(keys)) && fits(2, std::max(queries, keys)),
          "profile: ", queries, " x ", keys, " positions of ", shape_.heads,
          " heads need sums of more than 2^31 entries; take larger tiles");
  const bool keeps_edges = shape_.edge_limit > 0 && std::max(queries, keys) <= shape_.edge_limit;
  const Grid old{queries_, keys_};
  const Grid now{queries, keys};
  tile = moved(tile, shape_.heads, {query_tiles(), key_tiles()}, {tiles(queries), tiles(keys)});
  key = moved(key, shape_.heads, {1, keys_}, {1, keys});
  distance = moved(distance, shape_.heads, {1, distances()}, {1, queries + keys - 1}, keys - keys_);
  rows = moved(rows, shape_.heads, {1, queries_}, {1, queries});
  entropy.resize(static_cast<std::size_t>(shape_.heads));
  edge = keeps_edges ? moved(edge, shape_.heads, old, now) : Numbers();
  queries_ = queries;
  keys_ = keys;
}

void MassSums::add(const MassSums& other) {
  require(other.shape_.heads == shape_.heads && other.shape_.tile == shape_.tile &&
              other.shape_.edge_limit == shape_.edge_limit,
          "profile: sums of ", shape_.heads, " heads in tiles of ", shape_.tile, " with edges to ", shape_.edge_limit,
          " do not go with sums of ", other.shape_.heads, " heads in tiles of ", other.shape_.tile, " with edges to ",
          other.shape_.edge_limit);
  if (other.queries_ == 0) {
    return;
  }
  grow(other.queries_, other.keys_);
  MassSums theirs = other;
  theirs.grow(queries_, keys_);
  for (std::int64_t head = 0; head < shape_.heads; ++head) {
    require(rows_of(head) <= kMostRows - theirs.rows_of(head), "profile: more than ", kMostRows,
            " rows of a head do not fit in one profile");
  }
  add_to(tile, theirs.tile);
  add_to(key, theirs.key);
  add_to(distance, theirs.distance);
  add_to(entropy, theirs.entropy);
  add_to(rows, theirs.rows);
  add_to(edge, theirs.edge);
}

void MassSums::check(const std::string& where) const {
  const auto is_whole = [](const Numbers& numbers, std::size_t expected) {
    return numbers.size() == expected && std::all_of(numbers.begin(), numbers.end(), [](auto x) { return x >= 0; });
  };
  const std::int64_t heads = shape_.heads;
  const std::int64_t lines = queries_ > 0 ? heads : 0;
  require(is_whole(tile, entries(lines, query_tiles(), key_tiles())) && is_whole(key, entries(lines, keys_)) &&
              is_whole(distance, entries(lines, distances())) && is_whole(entropy, entries(lines, 1)) &&
              is_whole(rows, entries(lines, queries_)) &&
              is_whole(edge, has_edges() ? entries(lines, queries_, keys_) : 0),
          where, ": a sum is negative, or has another size than ", heads, " heads of ", queries_, " queries and ",
          keys_, " keys in tiles of ", shape_.tile, " have");
  for (std::int64_t head = 0; head < lines; ++head) {
    const auto first = rows.begin() + head * queries_;
    require(std::all_of(first, first + queries_, [](auto x) { return x <= kMostRows; }) && rows_of(head) <= kMostRows,
            where, ": head ", head, " counts more than ", kMostRows, " rows");
  }
}

}  // namespace weft::profile
