// SPDX-License-Identifier: Apache-2.0
// Activations; a gated one is one autograd function, so that both halves of the gradient are written where they belong.
#include "weft/layers/activation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>
#include <ATen/ops/threshold_backward.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <string>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/layers/host/row_kernels.h"

namespace weft::layers {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor half_of(const at::Tensor& x, std::int64_t which) {
  const std::int64_t width = x.size(-1) / 2;
  return x.narrow(-1, which * width, width);
}

/// out = dy f'(x) for the f of a gate.
void backward_of_gate(at::Tensor& out, const at::Tensor& gradient, const at::Tensor& x, Activation function) {
  switch (function) {
    case Activation::kGelu:
      at::gelu_backward_out(out, gradient, x);
      break;
    case Activation::kGeluNew:
      at::gelu_backward_out(out, gradient, x, "tanh");
      break;
    case Activation::kRelu:
      at::threshold_backward_out(out, gradient, x, 0);
      break;
    default:
      at::silu_backward_out(out, gradient, x);
      break;
  }
}

// y = f(g) v for x = [g, v]. Backwards dv = dy f(g) and dg = dy v f'(g), each written into its half of one gradient.
struct GatedFunction : torch::autograd::Function<GatedFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, std::int64_t function) {
    context->save_for_backward({x});
    context->saved_data["function"] = function;
    return activate(half_of(x, 0), static_cast<Activation>(function)).mul_(half_of(x, 1));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor x = context->get_saved_variables()[0];
    const auto function = static_cast<Activation>(context->saved_data["function"].toInt());
    const at::Tensor gate = half_of(x, 0);
    const at::Tensor gradient = at::empty_like(x);
    at::Tensor of_gate = half_of(gradient, 0);
    at::Tensor of_value = half_of(gradient, 1);
    at::mul_out(of_value, gradients[0], activate(gate, function));
    backward_of_gate(of_gate, gradients[0].mul(half_of(x, 1)), gate, function);
    return {gradient, at::Tensor()};
  }
};

// In vectors where a processor has kernels; keeps x alone.
struct GeluFunction : torch::autograd::Function<GeluFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x) {
    context->save_for_backward({x});
    return gelu_tanh(x);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {gelu_tanh_backward(gradients[0].contiguous(), context->get_saved_variables()[0])};
  }
};

at::Tensor gelu_new(const at::Tensor& x) {
  if (!kernel_dtype(x)) {
    return at::gelu(x, "tanh");
  }
  return at::GradMode::is_enabled() && x.requires_grad() ? GeluFunction::apply(x) : gelu_tanh(x);
}

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
                                                                {"swiglu", Activation::kSwiglu},
                                                                {"geglu", Activation::kGeglu},
                                                                {"geglu_new", Activation::kGegluNew},
                                                                {"reglu", Activation::kReglu}};
  for (const auto& [known, activation] : kNames) {
    if (name == known) {
      return activation;
    }
  }
  const std::string known = joined(kNames, ", ", [](const auto& row) { return row.first; });
  fail(ErrorKind::kArgument, "hidden_act must be one of ", known, ", found '", name, "'");
}

Activation inside_gate(Activation activation) noexcept {
  switch (activation) {
    case Activation::kSwiglu:
      return Activation::kSilu;
    case Activation::kGeglu:
      return Activation::kGelu;
    case Activation::kGegluNew:
      return Activation::kGeluNew;
    case Activation::kReglu:
      return Activation::kRelu;
    default:
      return activation;
  }
}

bool is_gated(Activation activation) noexcept { return inside_gate(activation) != activation; }

at::Tensor activate(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return at::gelu(x);
    case Activation::kGeluNew:
      return gelu_new(x);
    case Activation::kQuickGelu:
      return x * at::sigmoid(x * 1.702);
    case Activation::kRelu:
      return at::relu(x);
    case Activation::kSilu:
      return at::silu(x);
    case Activation::kSwiglu:
    case Activation::kGeglu:
    case Activation::kGegluNew:
    case Activation::kReglu:
      return GatedFunction::apply(x, static_cast<std::int64_t>(inside_gate(activation)));
  }
  fail(ErrorKind::kArgument, "unknown activation");
}

}  // namespace weft::layers
