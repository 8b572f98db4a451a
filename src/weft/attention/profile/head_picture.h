// SPDX-License-Identifier: Apache-2.0
// What a viewer shows of one head: the probabilities of a text, pooled into square cells, and the strongest keys of
// each row. Means hide single tokens, so that a cell keeps its largest probability too.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "weft/attention/profile/picture_request.h"
#include "weft/attention/profile/pooled_rows.h"
#include "weft/attention/profile/tile_scores.h"

namespace weft::attention {

/// float32 on the CPU. Cells of queries count from query_begin, cells of keys from key_begin.
struct HeadPicture {
  at::Tensor mean;        ///< [query cells, key cells]: of p over the edges of a cell; 0 where there are none
  at::Tensor largest;     ///< [query cells, key cells]
  at::Tensor edges;       ///< int64 [query cells, key cells]; 0: the pattern forbids the cell, which is not p = 0
  at::Tensor visible;     ///< float64 [query cells]: edges of a row of the cell on the average, drawn or not
  at::Tensor top_key;     ///< int64 [rows, top], by falling p; -1 where a row has no more edges
  at::Tensor top_weight;  ///< [rows, top]; 0 there
  at::Tensor key;         ///< float64 [drawn keys]: what all drawn rows give to a key
};

/// Draws the calls that a layer made for one text: one, or more where some rows are computed apart (Longformer's global
/// positions). Nothing in a picture depends on the threads.
class PictureOfHead {
 public:
  /// Errors: kArgument for a request that is empty, begins inside a cell or whose cell is no power of two.
  explicit PictureOfHead(const PictureRequest& request);

  /// Draws the rows of a call of batch 1 that the request asks for and that are no padding. Memory follows the cells
  /// and a tile of rows with its edges on each thread, never Q x K. Errors: kArgument where the call does not fit,
  /// kNumeric where a score is NaN or infinite.
  void add(const ScoredCall& call);

  HeadPicture finished() const;

  /// Of the rows that were drawn without; rows that were not drawn have no edges.
  const RowScales& scales() const noexcept { return sums_.scales; }

 private:
  PictureRequest request_;
  PictureSums sums_;
};

/// The smallest power of two that cuts `length` positions into at most `cells`.
std::int64_t cell_size(std::int64_t length, std::int64_t cells);

}  // namespace weft::attention
