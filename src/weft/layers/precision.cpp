// SPDX-License-Identifier: Apache-2.0
// Product dtypes and autocast state.
#include "weft/layers/precision.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/mm.h>

#include "weft/attention/backends/list.h"
#include "weft/attention/devices/device_work.h"

namespace weft::layers {

at::ScalarType product_dtype(const at::Tensor& tensor) {
  const at::DeviceType device = tensor.device().type();
  const bool lowered = at::autocast::is_autocast_enabled(device) && tensor.scalar_type() != at::kDouble;
  return lowered ? at::autocast::get_autocast_dtype(device) : tensor.scalar_type();
}

bool is_emulated(at::DeviceType device, at::ScalarType dtype) { return attention::traits_of(device).is_slow_at(dtype); }

at::Tensor operand(const at::Tensor& tensor, at::ScalarType dtype) {
  // Rounding first keeps the meaning: the same numbers are multiplied whether the processor has the dtype or not.
  const at::Tensor rounded = tensor.to(dtype);
  return is_emulated(tensor.device().type(), dtype) ? rounded.to(at::kFloat) : rounded;
}

at::Tensor summed_product(const at::Tensor& a, const at::Tensor& b) {
  const bool is_short = a.scalar_type() == at::kBFloat16 || a.scalar_type() == at::kHalf;
  return is_short && attention::has_own_memory(a.device()) ? at::mm(a, b, at::kFloat) : at::mm(a, b);
}

at::Tensor accumulated_product(const at::Tensor& a, const at::Tensor& b, at::ScalarType dtype) {
  return at::mm(operand(a, dtype), operand(b, dtype));
}

at::Tensor product(const at::Tensor& a, const at::Tensor& b, at::ScalarType dtype) {
  return accumulated_product(a, b, dtype).to(dtype);
}

AutocastState::AutocastState(at::DeviceType device)
    : device_(device),
      enabled_(at::autocast::is_autocast_enabled(device)),
      dtype_(at::autocast::get_autocast_dtype(device)) {}

AutocastState::Scope::Scope(const AutocastState& state)
    : device_(state.device_),
      enabled_(at::autocast::is_autocast_enabled(device_)),
      dtype_(at::autocast::get_autocast_dtype(device_)) {
  at::autocast::set_autocast_enabled(device_, state.enabled_);
  at::autocast::set_autocast_dtype(device_, state.dtype_);
}

AutocastState::Scope::~Scope() {
  at::autocast::set_autocast_enabled(device_, enabled_);
  at::autocast::set_autocast_dtype(device_, dtype_);
}

}  // namespace weft::layers
