// SPDX-License-Identifier: Apache-2.0
// The convolution with its gradients, over the backend that takes it.
#include "weft/attention/mechanisms/nystrom/token_convolution.h"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/custom_function.h>

#include "weft/attention/backends/list.h"
#include "weft/attention/kept_value.h"
#include "weft/attention/tensors.h"

namespace weft::attention {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct ConvolutionFunction : torch::autograd::Function<ConvolutionFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& base, const at::Tensor& values,
                            const at::Tensor& weights, const ConvolutionRow* row) {
    context->save_for_backward({values, weights});
    context->saved_data["row"] = kept(row);
    return row->forward({base, values, weights});
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
    const variable_list saved = context->get_saved_variables();
    const auto* row = kept_in<const ConvolutionRow*>(context->saved_data["row"]);
    const ConvolutionGradients found = row->backward({{}, saved[0], saved[1]}, gradients[0],
                                                     context->needs_input_grad(1), context->needs_input_grad(2));
    return {gradients[0], found.values, found.weights, {}};
  }
};

}  // namespace

at::Tensor add_convolution(const at::Tensor& base, const at::Tensor& values, const at::Tensor& weights) {
  const bool is_followed = any_is_followed({base, values, weights});
  const ConvolutionCall call{base, values, weights, !is_followed};
  const ConvolutionRow& row = backend_for(&Backend::convolution, call, "the convolution over rows").convolution;
  return is_followed && row.backward != nullptr ? ConvolutionFunction::apply(base, values, weights, &row)
                                                : row.forward(call);
}

}  // namespace weft::attention
