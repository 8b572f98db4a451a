// SPDX-License-Identifier: Apache-2.0
// LibTorch has the layer norm. The root of the mean square is a function here, which keeps x and a number a row.
#include "weft/layers/norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/layer_norm.h>
#include <torch/csrc/autograd/custom_function.h>

#include "weft/layers/precision.h"

namespace weft::layers {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::ScalarType sum_type(const at::Tensor& x) { return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat; }

// y = n w for n = x r, r = 1 / sqrt(mean(x^2) + epsilon). Backwards, with g = dy w: dw = sum dy n over the rows, and
// dx = r (g - n mean(g n)).
struct RmsFunction : torch::autograd::Function<RmsFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight, double epsilon) {
    const WithoutAutocast plain;
    const at::Tensor rows = x.to(sum_type(x));
    const at::Tensor scale = rows.square().mean(-1, true).add_(epsilon).rsqrt_();
    context->save_for_backward({x, weight, scale});
    return rows.mul(scale).to(x.scalar_type()).mul_(weight);  // rounded before the weight, as transformers does
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const WithoutAutocast plain;
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& weight = saved[1];
    const at::ScalarType type = sum_type(x);
    const at::Tensor normal = x.to(type) * saved[2];
    const at::Tensor given = gradients[0].to(type);
    at::Tensor of_x;
    at::Tensor of_weight;
    if (context->needs_input_grad(0)) {
      const at::Tensor scaled = given * weight;
      of_x = (scaled - normal * (scaled * normal).mean(-1, true)).mul_(saved[2]).to(x.scalar_type());
    }
    if (context->needs_input_grad(1)) {
      of_weight = (given * normal).flatten(0, -2).sum(0).to(weight.scalar_type());
    }
    return {of_x, of_weight, at::Tensor()};
  }
};

}  // namespace

NormImpl::NormImpl(std::int64_t width, const NormConfig& config, const at::TensorOptions& options) : config_(config) {
  if (config.kind != NormKind::kNone) {
    weight = register_parameter("weight", at::empty({width}, options));
  }
  if (config.kind == NormKind::kLayer && config.bias) {
    bias = register_parameter("bias", at::empty({width}, options));
  }
}

at::Tensor NormImpl::normalised(const at::Tensor& x, const at::Tensor& its_weight, const at::Tensor& its_bias) const {
  if (config_.kind == NormKind::kNone) {
    return x;
  }
  // Under autocast x may be bfloat16: statistics and result are those of the weights' float32.
  const at::Tensor rows = x.to(weight.scalar_type());
  return config_.kind == NormKind::kRms ? RmsFunction::apply(rows, its_weight, config_.epsilon)
                                        : at::layer_norm(rows, weight.sizes(), its_weight, its_bias, config_.epsilon);
}

at::Tensor NormImpl::forward(const at::Tensor& x) { return normalised(x, weight, bias); }

at::Tensor NormImpl::with_fixed_parameters(const at::Tensor& x) const {
  const auto fixed = [](const at::Tensor& parameter) { return parameter.defined() ? parameter.detach() : parameter; };
  return normalised(x, fixed(weight), fixed(bias));
}

}  // namespace weft::layers
