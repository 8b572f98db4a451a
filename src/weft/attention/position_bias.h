// SPDX-License-Identifier: Apache-2.0
// The position bias (ALiBi, BiALiBi) on tensors, for the paths that are made of LibTorch's operators.
#pragma once

#include <ATen/core/Tensor.h>

namespace weft::attention {

/// Throws kUnsupported where a gradient would be asked of slopes that may be undefined.
void refuse_gradient_of(const at::Tensor& slopes);

/// Slopes as attention() takes them to float32 [1 to 3, heads] on the device of `query`; undefined stays so. Errors:
/// kArgument for another shape, NaN or infinity.
at::Tensor checked_slopes(const at::Tensor& slopes, const at::Tensor& query);

/// slopes [1 to 3, F], positions int64 of queries [R, q] and keys [R, k] -> what is added to scores, [R, F, q, k] in
/// `type`.
at::Tensor position_bias(const at::Tensor& slopes, const at::Tensor& queries, const at::Tensor& keys,
                         at::ScalarType type);

}  // namespace weft::attention
