// SPDX-License-Identifier: Apache-2.0
// Row positions on tensors: what a call is given, and what paths that are made of LibTorch's operators do with it.
#pragma once

#include <ATen/core/Tensor.h>

#include "weft/attention/attention.h"
#include "weft/attention/call.h"

namespace weft::attention {

/// Expands the positions of a call whose other tensors are checked, in place. Errors: kArgument where they do not fit,
/// or stand beside a distance table.
void check_positions(Call& call);

/// Of queries [..., q, 1] and keys [..., 1, k] of which the sizes before broadcast: bool [..., q, k].
struct PairPositions {
  at::Tensor hidden;  ///< pairs that are no edges
  at::Tensor own;     ///< edges whose score is kOwnScore; undefined where no score is
};
PairPositions pair_positions(const RowPositions& positions);

/// `scores` with own_score() where `own`.
at::Tensor with_own_scores(const at::Tensor& scores, const at::Tensor& own);

}  // namespace weft::attention
