// SPDX-License-Identifier: Apache-2.0
// The dtypes of sums: half types are added up in float32.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

namespace weft::attention {

/// The dtype that sums are kept in: float64 for float64, else float32.
inline at::ScalarType accumulation_type(at::ScalarType type) { return type == at::kDouble ? at::kDouble : at::kFloat; }

/// That of the sums over `tensor`.
inline at::ScalarType accumulation_type(const at::Tensor& tensor) { return accumulation_type(tensor.scalar_type()); }

/// `tensor` in the dtype of its sums; no copy where it has that. Differentiable.
inline at::Tensor at_least_float(const at::Tensor& tensor) { return tensor.to(accumulation_type(tensor)); }

}  // namespace weft::attention
