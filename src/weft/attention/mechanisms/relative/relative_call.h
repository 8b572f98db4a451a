// SPDX-License-Identifier: Apache-2.0
// A call of attention whose scores know distances (Dai et al. 2019, section 3.3), as every backend is given it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/attention/attention.h"

namespace weft::attention {

/// One call; query i has position i + query_offset, keys start at position 0.
struct RelativeCall {
  at::Tensor query;  ///< [B, H, Q, D]
  at::Tensor key;    ///< [B, H_kv, K, D]
  at::Tensor value;  ///< [B, H_kv, K, D_v]
  /// R [H, S, D]: row s is for distance nearest + s; those before the first row take the first, those behind the last
  /// row take the last.
  at::Tensor distances;
  at::Tensor content_bias;   ///< u [H, D]
  at::Tensor distance_bias;  ///< v [H, D]
  at::Tensor keep;           ///< bool [B, K], false hides a key; undefined keeps all
  std::int64_t nearest = 0;  ///< distance of the first row of R
  std::int64_t query_offset = 0;
  std::int64_t left = -1;  ///< no key farther back is seen; -1: all are
  bool causal = true;      ///< no later key is seen
  double dropout = 0.0;    ///< on the probabilities
  DropoutSeed seed;
  DistanceTable added = {};                ///< to scores, [H, 1, span] in the dtype of the sums; undefined: nothing
  std::vector<std::int64_t> reaches = {};  ///< of each head: no key farther away, on either side; empty: all may be
  std::string seen = {};                   ///< a pattern that says the same as `reaches` and `causal`
  at::Tensor key_distances = {};  ///< R' [H, S, D], rows as those of R: scores have k_j . R'[i - j], too (He et al.
                                  ///< 2021, section 3.1); undefined: they have not
};

/// In the shapes and dtypes of the tensors of the call.
struct RelativeGradients {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  at::Tensor distances;
  at::Tensor content_bias;
  at::Tensor distance_bias;
  at::Tensor added;               ///< undefined where the call adds nothing
  at::Tensor key_distances = {};  ///< undefined where the call has none
};

}  // namespace weft::attention
