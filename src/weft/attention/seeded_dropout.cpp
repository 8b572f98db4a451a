// SPDX-License-Identifier: Apache-2.0
// Seeded dropout as a custom autograd function, over the backend that draws.
#include "weft/attention/seeded_dropout.h"

#include <torch/csrc/autograd/custom_function.h>

#include "weft/attention/backends/list.h"
#include "weft/attention/kept_value.h"

namespace weft::attention {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What of a call is no tensor, and who computes it.
struct KeptDropout {
  double probability;
  DropoutSeed seed;
  const DropoutRow* row;
};

struct DropoutFunction : torch::autograd::Function<DropoutFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, double probability,
                            const DropoutSeed& seed) {
    const DropoutCall call{x.contiguous(), probability, seed};
    const DropoutRow& row = backend_for(&Backend::dropout, call, "dropout of elements").dropout;
    context->saved_data["call"] = kept(KeptDropout{probability, seed, &row});
    return row.forward(call);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto& call = kept_in<KeptDropout>(context->saved_data["call"]);
    // d(mask x) = mask: drawn again from the seed, so that nothing was kept.
    return {call.row->forward({gradients[0].contiguous(), call.probability, call.seed}), {}, {}};
  }
};

}  // namespace

at::Tensor seeded_dropout(const at::Tensor& x, double probability, const DropoutSeed& seed) {
  return probability <= 0.0 ? x : DropoutFunction::apply(x, probability, seed);
}

}  // namespace weft::attention
