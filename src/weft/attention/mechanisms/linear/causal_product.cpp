// SPDX-License-Identifier: Apache-2.0
// The causal product with its gradients, over the backend that takes it.
#include "weft/attention/mechanisms/linear/causal_product.h"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "weft/attention/backends/list.h"
#include "weft/attention/kept_value.h"

namespace weft::attention {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct CausalProduct : torch::autograd::Function<CausalProduct> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& rows, const at::Tensor& keys,
                            const at::Tensor& values, const std::optional<at::Tensor>& sums,
                            const std::optional<at::Tensor>& levels) {
    const CausalCall call{rows, keys, values, sums.value_or(at::Tensor()), levels.value_or(at::Tensor())};
    const CausalRow& row = backend_for(&Backend::causal, call, "the causal product").causal;
    context->save_for_backward({rows, keys, values, call.sums, call.levels});
    context->saved_data["row"] = kept(&row);
    return row.forward(call);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
    const variable_list saved = context->get_saved_variables();
    const auto* row = kept_in<const CausalRow*>(context->saved_data["row"]);
    const CausalGradients found = row->backward({saved[0], saved[1], saved[2], saved[3], saved[4]}, gradients[0]);
    return {found.rows, found.keys, found.values, found.sums, at::Tensor()};
  }
};

}  // namespace

at::Tensor causal_product(const at::Tensor& rows, const at::Tensor& keys, const at::Tensor& values,
                          const at::Tensor& sums, const at::Tensor& levels) {
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  const auto given = [](const at::Tensor& tensor) { return tensor.defined() ? std::optional(tensor) : std::nullopt; };
  return CausalProduct::apply(rows, keys, values, given(sums), given(levels));
}

}  // namespace weft::attention
