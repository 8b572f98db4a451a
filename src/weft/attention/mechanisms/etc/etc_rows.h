// SPDX-License-Identifier: Apache-2.0
// Attention of ETC (Ainslie et al. 2020, "ETC: Encoding Long and Structured Inputs in Transformers", sections 3.1 to
// 3.3; BigBird-ETC, Zaheer et al. 2020, without random blocks) over projected rows: a long input sees a window and all
// global tokens, global tokens see each other and the long input, and a label for each pair adds to its score.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "weft/attention/mechanisms/etc/etc_structure.h"
#include "weft/core/random.h"

namespace weft::attention {

struct EtcShape {
  std::int64_t radius = 84;          ///< a long token sees that many tokens to each side
  std::int64_t max_distance = 12;    ///< farther ones have the label of this distance
  bool hard_global_to_long = false;  ///< a global token sees the tokens of its own sentence or paragraph alone
  bool hard_long_to_global = false;  ///< a long token sees the global tokens of its own sentence and paragraph alone
};

/// Labels of a shape: 0 is distance 0, 1 .. max_distance are keys behind the query, max_distance + 1 ..
/// 2 max_distance keys before it; then come a long and a global token that do not belong together, those that do, and
/// two global tokens of different segments: 0 to 27 as published.
constexpr std::int64_t relative_labels(std::int64_t max_distance) { return 2 * max_distance + 4; }

/// Queries, keys and values of one of the two inputs, [B, H, rows, D], in the dtype of sums.
struct EtcRows {
  at::Tensor query;  ///< divided by sqrt(D)
  at::Tensor key;
  at::Tensor value;
  at::Tensor by_label;  ///< what a label adds to the score of a query, [B, H, rows, labels]
};

/// With the tables E [labels, H, D] and b [labels, H] of the input's queries:
///   score(i, j) = (q_i . k_j + q_i . E[l(i, j)] + b[l(i, j)]) / sqrt(D).
EtcRows etc_rows(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& table,
                 const at::Tensor& bias);

/// What both kinds of rows need beside their projections.
struct EtcPairs {
  at::Tensor own;          ///< bool [B, N, G]: which tokens belong to which global ones
  at::Tensor keep;         ///< bool [B, N]
  at::Tensor global_keep;  ///< bool [B, G]
  const EtcStructure& structure;
  double dropout = 0.0;  ///< of the probabilities
  DropoutSeed seed;
};

/// Of a structure that check_structure() passed, which must outlive the result.
EtcPairs etc_pairs(const EtcStructure& structure, const EtcRows& tokens, const EtcRows& globals);

/// Long rows [B, H, N, D], in blocks of the radius that see three blocks of keys: one softmax over the window and the
/// global tokens. Time and memory grow with N (radius + G).
at::Tensor long_rows(const EtcRows& tokens, const EtcRows& globals, const EtcPairs& pairs, const EtcShape& shape);

/// Global rows [B, H, G, D]: one softmax over all global tokens and the long input.
at::Tensor global_rows(const EtcRows& tokens, const EtcRows& globals, const EtcPairs& pairs, const EtcShape& shape);

}  // namespace weft::attention
