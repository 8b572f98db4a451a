// SPDX-License-Identifier: Apache-2.0
// The linear layer as a custom autograd function.
#include "weft/layers/linear.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "weft/core/error.h"
#include "weft/layers/host/row_kernels.h"
#include "weft/layers/inference/packing_for_steps.h"
#include "weft/layers/inference/row_pieces.h"
#include "weft/layers/precision.h"

namespace weft::layers {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// All leading dimensions as one: a matrix product knows two.
at::Tensor rows_of(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

std::vector<std::int64_t> with_last(const at::Tensor& x, std::int64_t size) {
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = size;
  return shape;
}

at::Tensor operand_of(const at::Tensor& kept, const at::Tensor& parameter, at::ScalarType dtype) {
  return kept.defined() ? kept : operand(parameter, dtype);
}

/// What a product multiplies with: parameters [out, in] and [out], and their forms where they are kept.
struct Factors {
  const at::Tensor& weight;
  const at::Tensor& bias;
  const Operands& kept;
};

/// x [rows, in] in operand form -> [rows, out], not yet rounded.
at::Tensor multiply_and_add(const at::Tensor& x, const Factors& factors, at::ScalarType dtype) {
  const at::Tensor transposed = operand_of(factors.kept.weight, factors.weight, dtype).t();
  return factors.bias.defined() ? at::addmm(operand_of(factors.kept.bias, factors.bias, dtype), x, transposed)
                                : at::mm(x, transposed);
}

/// x [rows, in] of `dtype` -> [rows, out], rounded to it.
at::Tensor rounded_product(const at::Tensor& rows, const Factors& factors, at::ScalarType dtype) {
  return multiply_and_add(operand(rows, dtype), factors, dtype).to(dtype);
}

/// Without a node for the backward pass, which would cost as much of the host as the product's launch on a GPU.
at::Tensor without_gradients(const at::Tensor& x, const Factors& factors) {
  const at::ScalarType dtype = product_dtype(factors.weight);
  const WithoutAutocast plain;
  return rounded_product(rows_of(x).to(dtype), factors, dtype).view(with_last(x, factors.weight.size(0)));
}

struct LinearFunction : torch::autograd::Function<LinearFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& given_bias, const Operands& kept) {
    const at::Tensor bias = given_bias.value_or(at::Tensor());
    const at::ScalarType dtype = product_dtype(weight);
    const WithoutAutocast plain;
    const at::Tensor rows = rows_of(x).to(dtype);
    // `rows` has the product dtype already, half the memory under bfloat16, and tells it to the backward pass.
    context->save_for_backward({rows, weight, kept.weight});
    context->saved_data["with_bias"] = bias.defined();
    context->saved_data["x_dtype"] = x.scalar_type();
    return rounded_product(rows, {weight, bias, kept}, dtype).view(with_last(x, weight.size(0)));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const WithoutAutocast plain;
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];  // [rows, in]
    const at::Tensor& weight = saved[1];
    const at::ScalarType dtype = x.scalar_type();
    const at::Tensor gradient = operand(rows_of(gradients[0]), dtype);  // [rows, out]
    at::Tensor of_x;
    at::Tensor of_weight;
    at::Tensor of_bias;
    if (context->needs_input_grad(0)) {
      // dX = dY W
      of_x = at::mm(gradient, operand_of(saved[2], weight, dtype)).to(dtype).view(with_last(gradients[0], x.size(1)));
      of_x = of_x.to(context->saved_data["x_dtype"].toScalarType());
    }
    if (context->needs_input_grad(1)) {
      // dW = dY^T X, in the parameter's dtype: the optimiser sums it with float32 moments.
      of_weight = summed_product(gradient.t(), operand(x, dtype)).to(weight.scalar_type());
    }
    if (context->saved_data["with_bias"].toBool() && context->needs_input_grad(2)) {
      of_bias = column_sums(gradient, weight.scalar_type());
    }
    return {of_x, of_weight, of_bias, {}};
  }
};

at::Tensor multiplied(const at::Tensor& x, const Factors& factors) {
  require(x.dim() >= 1 && x.size(-1) == factors.weight.size(1), "linear: input has shape ", x.sizes(),
          " but the weight is [out, in] = ", factors.weight.sizes());
  return at::GradMode::is_enabled() ? LinearFunction::apply(x, factors.weight, optional(factors.bias), factors.kept)
                                    : without_gradients(x, factors);
}

}  // namespace

at::Tensor apply_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return multiplied(x, {weight, bias, {}});
}

// The activation of a layer comes behind: fused it would see sums that are not rounded, and the bits would depend on
// the rows. Where products are emulated what is kept is float32, and that product would round neither x nor its sums.
at::Tensor apply_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, KeptOperands& operands,
                        PackedWeight& packed) {
  const at::ScalarType dtype = product_dtype(weight);
  const Operands kept = operands.of(weight, bias, dtype);
  const bool is_rounded = kept.weight.defined() && kept.weight.scalar_type() == dtype;
  at::Tensor rows = x;
  if (is_rounded && KeepingOperands::is_on() && !at::GradMode::is_enabled()) {
    const WithoutAutocast plain;
    rows = x.to(dtype);  // once: what packs nothing, as a GPU, multiplies the same
    if (PackedWeight::serves(rows, kept.weight, {})) {
      return packed.multiply(rows, kept.weight, kept.bias, {});
    }
  }
  return multiplied(rows, {weight, bias, kept});
}

at::Tensor LinearRows::operator()(const at::Tensor& x) const {
  return int8_ ? int8_->multiply_rows(x, bias_, begin_, count_) : apply_linear(x, weight_, bias_);
}

LinearRows LinearRows::detached() const {
  LinearRows fixed = *this;
  fixed.weight_ = weight_.defined() ? weight_.detach() : weight_;
  fixed.bias_ = bias_.defined() ? bias_.detach() : bias_;
  return fixed;
}

LinearImpl::LinearImpl(std::int64_t in, std::int64_t out, bool with_bias, const at::TensorOptions& options)
    : inputs_(in), outputs_(out), weight_(register_parameter("weight", at::empty({out, in}, options))) {
  if (with_bias) {
    bias_ = register_parameter("bias", at::empty({out}, options));
  }
}

at::Tensor LinearImpl::product(const at::Tensor& x, std::optional<Activation> activation) {
  if (int8_) {
    return int8_->multiply(x, bias_, activation);
  }
  if (!is_training() && PackedWeight::serves(x, weight_, activation)) {
    return packed_->multiply(x, weight_, bias_, activation);
  }
  const bool is_step = !is_training() && activation && is_product_of_step(x, weight_);
  const at::Tensor sums =
      is_step ? packed_->multiply(x, weight_, bias_, {}) : apply_linear(x, weight_, bias_, *operands_, *packed_);
  return activation ? activate(sums, *activation) : sums;
}

at::Tensor LinearImpl::forward(const at::Tensor& x) {
  return in_row_pieces(x, operations_of_row(), [&](const at::Tensor& part) { return product(part, {}); });
}

at::Tensor LinearImpl::activated(const at::Tensor& x, Activation activation) {
  return in_row_pieces(x, operations_of_row(), [&](const at::Tensor& part) { return product(part, activation); });
}

void LinearImpl::train(bool on) {
  if (on && !is_training()) {
    packed_ = std::make_unique<PackedWeight>();
    operands_ = std::make_unique<KeptOperands>();
  }
  torch::nn::Module::train(on);
}

LinearRows LinearImpl::rows(std::int64_t begin, std::int64_t count) const {
  const bool is_all = count == outputs_;  // no view, and no node of a graph for one
  const at::Tensor bias = bias_.defined() && !is_all ? bias_.narrow(0, begin, count) : bias_;
  return int8_ ? LinearRows(int8_, begin, count, bias)
               : LinearRows(is_all ? weight_ : weight_.narrow(0, begin, count), bias);
}

void LinearImpl::keep_int8(std::shared_ptr<const Int8Weight> weight) {
  int8_ = std::move(weight);
  weight_ = at::Tensor();
  parameters_.erase("weight");
}

double LinearImpl::operations_of_row() const {
  return 2.0 * static_cast<double>(inputs_) * static_cast<double>(outputs_);
}

}  // namespace weft::layers
