// SPDX-License-Identifier: Apache-2.0
// Where the attention of one layer went, summed: by tile, key and distance, with the entropy of the rows, and by edge
// for short texts. The sums are whole numbers, so that they have no order: threads, processes and a run that was
// stopped and resumed give the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::profile {

/// A probability is counted in units of 2^-36: 1e-11, and 2^27 rows of a head fit.
inline constexpr double kMassUnit = 0x1p-36;
/// Entropy, in nats, is counted in units of 2^-28.
inline constexpr double kEntropyUnit = 0x1p-28;
/// Rows that one head can count; beyond them a sum could leave 63 bits.
inline constexpr std::int64_t kMostRows = std::int64_t{1} << 27;

/// What the sums are over. Positions count from the first key of a call.
struct MassShape {
  std::int64_t heads = 1;
  std::int64_t tile = 64;          ///< positions on each side of a tile
  std::int64_t edge_limit = 1024;  ///< edges are summed where no text is longer, queries and keys; 0: they are not
};

class MassSums {
 public:
  MassSums() = default;
  /// Errors: kArgument for sizes below 1.
  explicit MassSums(const MassShape& shape);

  /// The sizes alone, for whoever fills in the arrays; check() says whether they fit then.
  static MassSums sized(const MassShape& shape, std::int64_t queries, std::int64_t keys);

  /// Room for positions of queries and keys, at least as many as there is; edges go where that is beyond edge_limit.
  /// Errors: kArgument for more than 2^31 entries.
  void grow(std::int64_t queries, std::int64_t keys);
  /// Adds the sums of other texts. Errors: kArgument for another shape, or more than kMostRows rows of a head.
  void add(const MassSums& other);
  /// Errors: kArgument, naming `where`, unless every array is as long as the sizes say and no number is negative.
  void check(const std::string& where) const;

  const MassShape& shape() const noexcept { return shape_; }
  std::int64_t queries() const noexcept { return queries_; }
  std::int64_t keys() const noexcept { return keys_; }
  std::int64_t query_tiles() const noexcept { return tiles(queries_); }
  std::int64_t key_tiles() const noexcept { return tiles(keys_); }
  std::int64_t distances() const noexcept { return queries_ + keys_ > 0 ? queries_ + keys_ - 1 : 0; }
  bool has_edges() const noexcept { return shape_.edge_limit > 0 && std::max(queries_, keys_) <= shape_.edge_limit; }
  /// Rows of a head that were counted.
  std::int64_t rows_of(std::int64_t head) const;

  std::vector<std::int64_t> tile;      ///< [heads, query tiles, key tiles]
  std::vector<std::int64_t> key;       ///< [heads, keys]
  std::vector<std::int64_t> distance;  ///< [heads, queries + keys - 1]: entry d + keys - 1 is the distance d, the
                                       ///< position of the query minus that of the key
  std::vector<std::int64_t> entropy;   ///< [heads], in kEntropyUnit; empty, as all are, before grow()
  std::vector<std::int64_t> rows;      ///< [heads, queries]: queries with an edge; the probabilities of each sum to 1
  std::vector<std::int64_t> edge;      ///< [heads, queries, keys], or empty

 private:
  std::int64_t tiles(std::int64_t length) const noexcept { return (length + shape_.tile - 1) / shape_.tile; }

  MassShape shape_;
  std::int64_t queries_ = 0;
  std::int64_t keys_ = 0;
};

}  // namespace weft::profile
