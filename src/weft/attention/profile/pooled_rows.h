// SPDX-License-Identifier: Apache-2.0
// The rows of one head, pooled into the cells of a picture: down the columns of a tile first, which is one pass over
// memory, then across the columns of a cell.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/attention/profile/picture_request.h"
#include "weft/attention/profile/tile_scores.h"

namespace weft::attention {

/// The unit of what a key was given: a sum of rows that no thread's turn changes.
constexpr double kKeyUnit = 0x1p-40;

/// What is known of a picture while its rows are drawn. Rows of cells are apart in memory: threads share this where
/// each draws its own.
struct PictureSums {
  std::int64_t columns = 0;             ///< cells of keys
  std::vector<double> mass;             ///< [query cells, columns]: sum of p
  std::vector<float> largest;           ///< the same shape: largest p
  std::vector<std::int64_t> edges;      ///< the same shape
  std::vector<std::int64_t> row_edges;  ///< [query cells]: of the whole rows
  std::vector<std::int64_t> rows;       ///< [query cells]: drawn
  std::vector<std::int64_t> top_key;    ///< [rows, top], -1 where there is none
  std::vector<float> top_weight;        ///< [rows, top]
  std::vector<std::int64_t> key;        ///< [drawn keys]: units of what all drawn rows gave to it
  RowScales scales;                     ///< of the drawn rows where the request had none
};

/// Draws blocks of queries of one call into `sums`, all but its keys. A thread has its own. Number is that of the
/// scores: float or double.
template <typename Number>
class PooledRows {
 public:
  PooledRows(const PictureRequest& request, const ScoredCall& call, PictureSums& sums);

  /// The rows of a block that the request asks for and that are no padding. False where a score is NaN or infinite.
  bool add(std::int64_t query_block);

  /// What the rows added so far gave to each drawn key, in units.
  const std::vector<std::int64_t>& key() const noexcept { return key_; }

 private:
  // Drawn columns that fall into one cell.
  struct Part {
    std::int64_t column;
    std::int64_t keys;
    std::int64_t cell;
  };

  // Whether whole rows are seen for the first time, so that their scales are found here.
  bool finds_scales() const noexcept { return request_.scales == nullptr; }
  const RowScales& scales() const noexcept { return finds_scales() ? sums_.scales : *request_.scales; }
  std::vector<std::int64_t> asked_queries(std::int64_t query_block) const;
  at::Tensor scores_of(std::int64_t query_block);
  void find_parts();
  bool add_row(const at::Tensor& line, std::int64_t position);
  Number share_of(Number* scores, const at::Tensor& line, std::int64_t position);
  void list_strongest(const Number* exponentials, Number share, std::int64_t position);
  void pool(std::int64_t cell_row);

  const PictureRequest& request_;
  const ScoredCall& call_;
  PictureSums& sums_;
  TileScores tiles_;
  std::vector<KeyRun> drawn_;        // runs of the tile, cut to the keys that are drawn
  std::vector<Part> parts_;          // the same, cut at cells
  std::vector<Number> column_sums_;  // of the rows of one row of cells, by column of the tile
  std::vector<Number> column_most_;  // largest p, likewise
  std::vector<std::int32_t> column_edges_;
  std::vector<std::int64_t> key_;
};

}  // namespace weft::attention
