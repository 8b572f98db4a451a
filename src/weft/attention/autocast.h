// SPDX-License-Identifier: Apache-2.0
// Autocast for whoever computes attention without the dispatcher: what goes in is cast once, as by
// scaled_dot_product_attention, and nothing inside is cast again.
#pragma once

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>

namespace weft::attention {

/// `tensor` in the dtype of autocast, where that is on for its device; float64 stays what it is. Differentiable.
inline at::Tensor in_autocast_type(const at::Tensor& tensor) {
  const at::DeviceType device = tensor.device().type();
  if (tensor.scalar_type() == at::kDouble || !at::autocast::is_autocast_enabled(device)) {
    return tensor;
  }
  return tensor.to(at::autocast::get_autocast_dtype(device));
}

}  // namespace weft::attention
