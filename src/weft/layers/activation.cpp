// SPDX-License-Identifier: Apache-2.0
// Activations; the gated one is a function of its own, so that both halves of the gradient are written where they
// belong.
#include "weft/layers/activation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>
#include <torch/csrc/autograd/custom_function.h>

#include "weft/core/error.h"

namespace weft::layers {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor half_of(const at::Tensor& x, std::int64_t which) {
  const std::int64_t width = x.size(-1) / 2;
  return x.narrow(-1, which * width, width);
}

// y = silu(g) v for x = [g, v]. Backwards dv = dy silu(g) and dg = dy v silu'(g), each written into its half of one
// gradient.
struct SwigluFunction : torch::autograd::Function<SwigluFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x) {
    context->save_for_backward({x});
    return at::silu(half_of(x, 0)).mul_(half_of(x, 1));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor x = context->get_saved_variables()[0];
    const at::Tensor gate = half_of(x, 0);
    const at::Tensor gradient = at::empty_like(x);
    at::Tensor of_gate = half_of(gradient, 0);
    at::Tensor of_value = half_of(gradient, 1);
    at::mul_out(of_value, gradients[0], at::silu(gate));
    at::silu_backward_out(of_gate, gradients[0].mul(half_of(x, 1)), gate);
    return {gradient};
  }
};

}  // namespace

Activation parse_activation(std::string_view name) {
  constexpr std::pair<std::string_view, Activation> kNames[] = {{"gelu", Activation::kGelu},
                                                                {"gelu_new", Activation::kGeluNew},
                                                                {"gelu_fast", Activation::kGeluNew},
                                                                {"gelu_pytorch_tanh", Activation::kGeluNew},
                                                                {"quick_gelu", Activation::kQuickGelu},
                                                                {"relu", Activation::kRelu},
                                                                {"silu", Activation::kSilu},
                                                                {"swish", Activation::kSilu},
                                                                {"swiglu", Activation::kSwiglu}};
  for (const auto& [known, activation] : kNames) {
    if (name == known) {
      return activation;
    }
  }
  fail(
      ErrorKind::kArgument,
      "hidden_act must be one of gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, quick_gelu, relu, silu, swish, swiglu, ",
      "found '", name, "'");
}

bool is_gated(Activation activation) noexcept { return activation == Activation::kSwiglu; }

at::Tensor activate(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return at::gelu(x);
    case Activation::kGeluNew:
      return at::gelu(x, "tanh");
    case Activation::kQuickGelu:
      return x * at::sigmoid(x * 1.702);
    case Activation::kRelu:
      return at::relu(x);
    case Activation::kSilu:
      return at::silu(x);
    case Activation::kSwiglu:
      return SwigluFunction::apply(x);
  }
  fail(ErrorKind::kArgument, "unknown activation");
}

}  // namespace weft::layers
