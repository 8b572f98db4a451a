// SPDX-License-Identifier: Apache-2.0
// Where the attention of one layer goes in a call: its probabilities, computed once more beside the output, as sums.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/attention/attention.h"
#include "weft/profile/mass_sums.h"

namespace weft::attention {

/// What Transformer-XL adds to a score: scale * Q2 . R[distance] (docs/kernel.md).
struct RelativeMass {
  at::Tensor query;       ///< Q2 [B, H, Q, D]; undefined: nothing is added
  at::Tensor rows;        ///< R [H, span, D]; beyond either end the row at that end
  std::int64_t zero = 0;  ///< the row of distance 0; it may lie outside of R
};

/// A call of attention(), without its values. Dropout is not part of it: a profile is that of evaluation.
struct MassCall {
  at::Tensor query;  ///< [B, H, Q, D]
  at::Tensor key;    ///< [B, H_kv, K, D]
  LayoutPtr layout;
  double scale = 1.0;
  at::Tensor key_keep = {};      ///< bool [B, K], false marks a padded key; undefined keeps all
  at::Tensor query_keep = {};    ///< bool [B, Q], false marks a padded query, which does not count; undefined: all do
  DistanceTable distances = {};  ///< as in AttentionOptions
  RelativeMass relative = {};
  /// Where the queries stand, for rows that were picked out of a text; empty: one after the other from the layout's
  /// offset on. A distance table or relative rows know only those.
  std::vector<std::int64_t> positions = {};
};

/// Adds the probabilities of a call to the sums of its layer, which grow to its lengths. Float32 scores (float64 for
/// float64), sums in float64 over a row of the batch and a head, which are then rounded to units: nothing depends on
/// the threads. Memory is linear in the length of the keys: a tile of queries at a time. Errors: kArgument where the
/// call does not fit its layout or the heads, or there are too many rows; kNumeric where a score is NaN or infinite:
/// the sums are not to be used then.
void add_mass(profile::MassSums& sums, const MassCall& call);

}  // namespace weft::attention
