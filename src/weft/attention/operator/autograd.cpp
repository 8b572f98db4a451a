// SPDX-License-Identifier: Apache-2.0
// The Autograd kernel of weft::attention. Saves query, key, value, output and log-sum-exp; the scores are computed
// again in the backward pass.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <string>

#include "weft/attention/operator/operator.h"
#include "weft/attention/position_bias.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Connects a first gradient to what it came from, only to refuse the second one.
class RefuseSecondDerivative : public torch::autograd::Function<RefuseSecondDerivative> {
 public:
  static at::Tensor forward(AutogradContext*, const at::Tensor& gradient, const at::Tensor&, const at::Tensor&,
                            const at::Tensor&, const at::Tensor&) {
    return gradient;
  }
  static variable_list backward(AutogradContext*, const variable_list&) {
    fail(ErrorKind::kUnsupported, "attention has no second derivative: its backward pass is not differentiable");
  }
};

// The operator's arguments that are no tensors to differentiate by.
struct Rest {
  OptionalTensor key_keep;
  std::vector<at::Tensor> layout;
  std::vector<std::int64_t> sizes;
  double scale;
  double dropout;
  std::int64_t seed;
  std::string path;
  OptionalTensor slopes;

  void save(AutogradContext* context) const {
    context->saved_data["key_keep"] = key_keep;
    context->saved_data["layout"] = layout;
    context->saved_data["sizes"] = sizes;
    context->saved_data["scale"] = scale;
    context->saved_data["dropout"] = dropout;
    context->saved_data["seed"] = seed;
    context->saved_data["path"] = path;
    context->saved_data["slopes"] = slopes;
  }
  static Rest saved(AutogradContext* context) {
    auto& data = context->saved_data;
    return {data["key_keep"].toOptional<at::Tensor>(),
            data["layout"].toTensorVector(),
            data["sizes"].toIntVector(),
            data["scale"].toDouble(),
            data["dropout"].toDouble(),
            data["seed"].toInt(),
            data["path"].toStringRef(),
            data["slopes"].toOptional<at::Tensor>()};
  }
};

class AttentionFunction : public torch::autograd::Function<AttentionFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& query, const at::Tensor& key,
                               const at::Tensor& value, const Rest& rest) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    auto [output, log_sum_exp] = forward_operator().call(query, key, value, rest.key_keep, rest.layout, rest.sizes,
                                                         rest.scale, rest.dropout, rest.seed, rest.path, rest.slopes);
    context->save_for_backward({query, key, value, output, log_sum_exp});
    context->mark_non_differentiable({log_sum_exp});
    rest.save(context);
    return {output, log_sum_exp};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    variable_list result = first_gradients(saved, Rest::saved(context), gradients[0]);
    if (at::GradMode::is_enabled()) {
      for (at::Tensor& gradient : result) {
        gradient = RefuseSecondDerivative::apply(gradient, gradients[0], saved[0], saved[1], saved[2]);
      }
    }
    return {result[0], result[1], result[2], at::Tensor()};
  }

 private:
  static variable_list first_gradients(const variable_list& saved, const Rest& rest, const at::Tensor& gradient) {
    const at::NoGradGuard no_grad;
    const at::Tensor incoming = gradient.defined() ? gradient : at::zeros_like(saved[3]);
    auto [query, key, value] =
        backward_operator().call(incoming, saved[0], saved[1], saved[2], saved[3], saved[4], rest.key_keep, rest.layout,
                                 rest.sizes, rest.scale, rest.dropout, rest.seed, rest.path, rest.slopes);
    return {query, key, value};
  }
};

// NOLINTNEXTLINE(readability-function-size): a kernel has the parameters of its schema
Results autograd_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                           const OptionalTensor& key_keep, at::TensorList layout, at::IntArrayRef sizes, double scale,
                           double dropout, std::int64_t seed, std::string_view path, const OptionalTensor& slopes) {
  refuse_gradient_of(slopes.value_or(at::Tensor()));
  const variable_list results = AttentionFunction::apply(
      query, key, value, Rest{key_keep, layout.vec(), sizes.vec(), scale, dropout, seed, std::string(path), slopes});
  return {results[0], results[1]};
}

TORCH_LIBRARY_IMPL(weft, Autograd, library) { library.impl("attention", autograd_attention); }

}  // namespace
}  // namespace weft::attention
