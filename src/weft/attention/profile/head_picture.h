// SPDX-License-Identifier: Apache-2.0
// What a viewer shows of one head: the probabilities of a text, pooled into square cells, and the strongest keys of
// each row. Means hide single tokens, so that a cell keeps its largest probability too.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "weft/attention/profile/tile_scores.h"

namespace weft::attention {

/// Which head, which rows and how finely. Queries are counted by their positions.
struct PictureRequest {
  std::int64_t head = 0;
  std::int64_t cell = 1;         ///< positions on each side of a cell, a power of two
  std::int64_t query_begin = 0;  ///< a multiple of `cell`
  std::int64_t query_end = 0;    ///< behind the last
  std::int64_t keys = 0;         ///< positions of keys
  std::int64_t top = 0;          ///< keys to list for each row
};

/// float32 on the CPU. Cells of queries count from query_begin, cells of keys from key 0.
struct HeadPicture {
  at::Tensor mean;        ///< [query cells, key cells]: of p over the edges of a cell; 0 where there are none
  at::Tensor largest;     ///< [query cells, key cells]
  at::Tensor edges;       ///< int64 [query cells, key cells]; 0: the pattern forbids the cell, which is not p = 0
  at::Tensor top_key;     ///< int64 [rows, top], by falling p; -1 where a row has no more edges
  at::Tensor top_weight;  ///< [rows, top]; 0 there
  at::Tensor key;         ///< float64 [keys]: what all drawn rows give to a key
};

/// Draws the calls that a layer made for one text: one, or more where some rows are computed apart (Longformer's global
/// positions).
class PictureOfHead {
 public:
  /// Errors: kArgument for a request that is empty or whose cell is no power of two.
  explicit PictureOfHead(const PictureRequest& request);

  /// Draws the rows of a call of batch 1 that the request asks for and that are no padding. Memory follows the cells
  /// and a tile of rows with its edges, never Q x K. Errors: kArgument where the call does not fit, kNumeric where a
  /// score is NaN or infinite.
  void add(const ScoredCall& call);

  HeadPicture finished() const;

 private:
  void add_rows(const at::Tensor& row, const at::Tensor& found, const at::Tensor& keys, std::int64_t tile_key);
  void add_cells(const at::Tensor& row_cell, const at::Tensor& keys, const at::Tensor& p, const at::Tensor& edges);
  void add_top(const at::Tensor& row, const at::Tensor& keys, const at::Tensor& p);

  PictureRequest request_;
  HeadPicture sums_;  // `mean` is a sum until finished()
};

/// The smallest power of two that cuts `length` positions into at most `cells`.
std::int64_t cell_size(std::int64_t length, std::int64_t cells);

}  // namespace weft::attention
