// SPDX-License-Identifier: Apache-2.0
// One attention call: what every path is given, and what travels from the front door or the dispatcher to a kernel and
// on to the backward pass. Paths know nothing of autograd.
#pragma once

#include <ATen/core/Tensor.h>

#include "weft/attention/attention.h"
#include "weft/attention/layout.h"
#include "weft/kernels/arguments.h"

namespace weft::attention {

struct Backend;  // backends/backend.h
struct Way;

/// Who computes a call, chosen once (operator/paths.h).
struct Taken {
  const Way* way = nullptr;
  const Backend* backend = nullptr;  ///< that the way is of
};

/// What Transformer-XL adds to scores: scale * Q2 . R[distance] (Dai et al. 2019, section 3.3). Not every way knows it:
/// whoever has it and no kernel calls relative_attention() (mechanisms/relative/relative_product.h).
struct RelativeTerm {
  at::Tensor query;       ///< Q2 [B, H, Q, D]; undefined: nothing is added
  at::Tensor rows;        ///< R [H, span, D] in the dtype of query; beyond either end the row at that end
  std::int64_t zero = 0;  ///< the row of distance 0; it may lie outside of R
};

/// Shapes as in attention(). Key and value may hold anything where they are padded.
struct Call {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  at::Tensor key_keep;  ///< bool [B, K] or undefined
  LayoutPtr layout;
  double scale = 1.0;
  kernels::Dropout dropout;
  /// [H, 1 or 2, span], float32 (float64 for float64) on the device of query, or undefined.
  DistanceTable distances = {};
  RowPositions positions = {};  ///< of a checked call expanded to its sizes, on the device of query
  RelativeTerm relative = {};
  bool asks_distances = false;  ///< of a backward pass: whether it gives the gradient of `distances`
  Path path = Path::kAuto;      ///< of a call whose way is chosen never kAuto
  Taken taken = {};
};

/// output [B, H, Q, D_v] in the dtype of query; log_sum_exp [B, H, Q] in float32 (float64 for float64).
struct Forward {
  at::Tensor output;
  at::Tensor log_sum_exp;
};

/// In the shapes and dtypes of query, key, value and the distance table; of the last undefined where nobody asks.
struct Gradients {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  at::Tensor distances = {};
  at::Tensor relative_query = {};  ///< with a relative term, as is the next one
  at::Tensor relative_rows = {};   ///< in float32 (float64 for float64)
};

}  // namespace weft::attention
