// SPDX-License-Identifier: Apache-2.0
// Attention over rows in other orders than their own, in several parts with one softmax over all of them. A graph whose
// edges are scattered (sorted buckets, columns of a grid) is a layout of full blocks once its rows lie well.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/attention/attention.h"

namespace weft::attention {

/// One order of rows, and who sees whom in it. A place holds a row; tensors of rows and places are int64, with 1 for B
/// or H where batch rows or heads share them. All three undefined: the order of the text, which copies nothing.
struct PermutedPart {
  at::Tensor queries;      ///< [B, H, P]: the query row at each place; every row once, and places that no row reads
  at::Tensor places;       ///< [B, H, Q]: the place that each query row reads, queries[places[i]] = i
  at::Tensor keys;         ///< [B, H_kv, P_k]: the key row at each place; a row may stand at several places, or at none
  LayoutPtr layout;        ///< of P queries and P_k keys
  RowPositions positions;  ///< of the places; a key that nobody may see (padding, a spare place) has a negative one
  at::Tensor key_keep = {};      ///< bool [B, P_k] of the places, where no positions say it; undefined keeps all
  DistanceTable distances = {};  ///< of the places, where they have no positions; differentiable
};

/// query [B, H, Q, D], key [B, H_kv, K, D], value [B, H_kv, K, D_v] in the order of the text.
struct PermutedCall {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  std::vector<PermutedPart> parts;
  double scale = 1.0;
  double dropout = 0.0;  ///< on the probabilities, drawn for the part and its places
  DropoutSeed seed;
};

/// One softmax over the edges of all parts; a pair of rows that is an edge of several counts as often. [B, H, Q, D_v]
/// in the dtype of query, zeros for rows without edges. Each part takes the best path for its device, dtype and layout,
/// one after the other, so that the copies of one part are in memory at a time. Differentiable; a second derivative is
/// an error. Errors: kArgument for parts that do not fit.
at::Tensor permuted_attention(const PermutedCall& call);

}  // namespace weft::attention
