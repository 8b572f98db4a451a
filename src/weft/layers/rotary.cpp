// SPDX-License-Identifier: Apache-2.0
// Rotary tables, and the door of the rotation.
#include "weft/layers/rotary.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "weft/attention/accumulation.h"
#include "weft/attention/backends/list.h"
#include "weft/core/error.h"

namespace weft::layers {

Rotation RotaryTable::at_positions(std::int64_t first, std::int64_t count, const at::TensorOptions& options) {
  const at::ScalarType dtype = attention::accumulation_type(options.dtype().toScalarType());
  const at::TensorOptions wanted = at::TensorOptions(options.device()).dtype(dtype);
  const bool fits = table_.defined() && table_.cosine.size(0) >= first + count &&
                    table_.cosine.scalar_type() == dtype && table_.cosine.device() == options.device();
  if (!fits) {
    grow(first + count, wanted);
  }
  return {table_.cosine.narrow(0, first, count), table_.sine.narrow(0, first, count)};
}

void RotaryTable::grow(std::int64_t positions, const at::TensorOptions& options) {
  // The table outlives the call: made in inference mode it could not be kept for a backward pass later.
  const c10::InferenceMode outside(false);
  constexpr std::int64_t kSmallest = 512;
  const std::int64_t held = table_.defined() ? table_.cosine.size(0) : 0;
  const std::int64_t rows = std::max({positions, kSmallest, held < positions ? 2 * held : held});
  // float64 angles: at position 65,536 a float32 angle is off by 4e-3.
  const at::TensorOptions exact = at::TensorOptions(at::kCPU).dtype(at::kDouble);
  const at::Tensor exponents = at::arange(0, head_dim_, 2, exact) / -static_cast<double>(head_dim_);
  const at::Tensor angles = at::outer(at::arange(rows, exact), at::pow(theta_, exponents));
  table_ = {angles.cos().to(options), angles.sin().to(options)};
}

Rotation Rotations::of(std::int64_t head_dim, double theta) const {
  if (theta == 0.0) {
    return {};
  }
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const OfBase& each) {
    return each.theta == theta && 2 * each.rotation.cosine.size(1) == head_dim;
  });
  require(found != all_.end(), "rotary positions of base ", theta, " for heads of ", head_dim,
          " columns: the call has no such rotation");
  return found->rotation;
}

void RotaryTables::add(std::int64_t head_dim, double theta) {
  const auto is_same = [&](const RotaryTable& table) { return table.head_dim() == head_dim && table.theta() == theta; };
  if (std::none_of(tables_.begin(), tables_.end(), is_same)) {
    tables_.emplace_back(head_dim, theta);
  }
}

Rotations RotaryTables::at_positions(std::int64_t first, std::int64_t count, const at::TensorOptions& options) {
  Rotations rotations;
  for (RotaryTable& table : tables_) {
    rotations.add(table.theta(), table.at_positions(first, count, options));
  }
  return rotations;
}

at::Tensor rotate(const at::Tensor& x, const Rotation& rotation, bool inverse, at::Tensor output) {
  if (!output.defined()) {
    // In the order of x in memory: attention answers in that order, and then joining the heads is no copy.
    const bool by_token = x.stride(1) < x.stride(2);
    output = by_token ? at::empty({x.size(0), x.size(2), x.size(1), x.size(3)}, x.options()).transpose(1, 2)
                      : at::empty(x.sizes(), x.options());
  }
  const at::Tensor rows = x.stride(3) == 1 ? x : x.contiguous();
  const attention::RotationCall call{rows, rotation.cosine, rotation.sine, inverse};
  attention::backend_for(&attention::Backend::rotation, call, "the rotation of rotary positions")
      .rotation.forward(call, output);
  return output;
}

}  // namespace weft::layers
