// SPDX-License-Identifier: Apache-2.0
// Layer normalisation.
#include "weft/layers/layer_norm.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/layer_norm.h>

namespace weft::layers {

LayerNormImpl::LayerNormImpl(std::int64_t width, double epsilon, const at::TensorOptions& options)
    : weight(register_parameter("weight", at::empty({width}, options))),
      bias(register_parameter("bias", at::empty({width}, options))),
      epsilon_(epsilon) {}

at::Tensor LayerNormImpl::forward(const at::Tensor& x) {
  // Under autocast x may be bfloat16: statistics and result are those of the weights' float32.
  return at::layer_norm(x.to(weight.scalar_type()), weight.sizes(), weight, bias, epsilon_);
}

at::Tensor LayerNormImpl::with_fixed_parameters(const at::Tensor& x) const {
  return at::layer_norm(x.to(weight.scalar_type()), weight.sizes(), weight.detach(), bias.detach(), epsilon_);
}

}  // namespace weft::layers
