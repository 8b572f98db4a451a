// SPDX-License-Identifier: Apache-2.0
// Angles as an outer product of positions and frequencies.
#include "weft/attention/sinusoids.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/stack.h>

namespace weft::attention {

at::Tensor sinusoidal_positions(std::int64_t first, std::int64_t count, std::int64_t width,
                                const at::TensorOptions& options, bool halves) {
  const at::TensorOptions exact = at::TensorOptions(at::kCPU).dtype(at::kDouble);
  const at::Tensor exponents = at::arange(0, width, 2, exact) / -static_cast<double>(width);
  const at::Tensor angles = at::outer(at::arange(first, first + count, exact), at::pow(10000.0, exponents));
  const at::Tensor waves =
      halves ? at::cat({angles.sin(), angles.cos()}, 1) : at::stack({angles.sin(), angles.cos()}, 2).flatten(1);
  return waves.narrow(1, 0, width).to(options);
}

}  // namespace weft::attention
