// SPDX-License-Identifier: Apache-2.0
// Distance tables (ALiBi, BiALiBi, relative biases) on tensors: what a call is given, and what paths that are made of
// LibTorch's operators do with it.
#pragma once

#include <ATen/core/Tensor.h>

#include "weft/attention/attention.h"
#include "weft/attention/call.h"

namespace weft::attention {

/// The table of slopes as AttentionOptions has them, for every distance of the call; differentiable. Errors: kArgument
/// for another shape, NaN or infinity.
DistanceTable table_of_slopes(const at::Tensor& slopes, const Call& call);

/// The table of `options`, for a call whose other tensors are checked; differentiable. Errors: kArgument for slopes and
/// a table at once.
DistanceTable table_of(const AttentionOptions& options, const Call& call);

/// Errors: kArgument where a table is not [H, 1 or 2, span] in the accumulation type on the device of the query.
void check_table(const DistanceTable& table, const at::Tensor& query);

/// `table`, scores [F, 1 or 2, span], for positions int64 of queries [R, q] and keys [R, k], all on one device: what is
/// added to scores, [R, F, q, k].
at::Tensor distance_scores(const DistanceTable& table, const at::Tensor& queries, const at::Tensor& keys);

/// The gradient of `table` from those of its scores [R, F, q, k]: in the shape of the table.
at::Tensor distance_gradient(const DistanceTable& table, const at::Tensor& queries, const at::Tensor& keys,
                             const at::Tensor& gradients);

}  // namespace weft::attention
