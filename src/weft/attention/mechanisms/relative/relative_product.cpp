// SPDX-License-Identifier: Apache-2.0
// The door of relative calls: it chooses the backend once, for both passes, and keeps the tensors for autograd.
#include "weft/attention/mechanisms/relative/relative_product.h"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "weft/attention/backends/list.h"
#include "weft/attention/kept_value.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What the backward pass needs of a call besides its tensors, which autograd keeps.
struct KeptRelative {
  RelativeCall call;
  const RelativeRow* row;
};

RelativeCall without_tensors(RelativeCall call) {
  for (at::Tensor* tensor : {&call.query, &call.key, &call.value, &call.distances, &call.content_bias,
                             &call.distance_bias, &call.keep, &call.added.scores, &call.key_distances}) {
    *tensor = at::Tensor();
  }
  return call;
}

struct RelativeFunction : torch::autograd::Function<RelativeFunction> {
  /// `tensors` are those of the call, for autograd to find.
  static at::Tensor forward(AutogradContext* context, at::TensorList /*tensors*/, const RelativeCall& call,
                            const RelativeRow* row) {
    const RelativeForward found = row->forward(call);
    context->save_for_backward({call.query, call.key, call.value, call.distances, call.content_bias, call.distance_bias,
                                call.keep, found.kept.output, found.kept.log_sum_exp, call.added.scores,
                                call.key_distances});
    context->saved_data["call"] = kept(KeptRelative{without_tensors(call), row});
    return found.output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    if (at::GradMode::is_enabled()) {
      fail(ErrorKind::kUnsupported,
           "relative attention has no second derivative: its backward pass is not differentiable");
    }
    const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
    const variable_list saved = context->get_saved_variables();
    KeptRelative all = kept_in<KeptRelative>(context->saved_data["call"]);
    all.call.query = saved[0];
    all.call.key = saved[1];
    all.call.value = saved[2];
    all.call.distances = saved[3];
    all.call.content_bias = saved[4];
    all.call.distance_bias = saved[5];
    all.call.keep = saved[6];
    all.call.added.scores = saved[9];
    all.call.key_distances = saved[10];
    const RelativeGradients found = all.row->backward(all.call, {saved[7], saved[8]}, gradients[0]);
    variable_list result = {found.query,     found.key,          found.value,
                            found.distances, found.content_bias, found.distance_bias};
    if (found.added.defined()) {
      result.push_back(found.added);
    }
    if (found.key_distances.defined()) {
      result.push_back(found.key_distances);
    }
    result.resize(result.size() + 2);  // nothing for the call and its row
    return result;
  }
};

}  // namespace

at::Tensor relative_attention(const RelativeCall& call) {
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  const RelativeRow& row = backend_for(&Backend::relative, call, "attention that knows distances").relative;
  std::vector<at::Tensor> tensors = {call.query,     call.key,          call.value,
                                     call.distances, call.content_bias, call.distance_bias};
  if (call.added.scores.defined()) {
    tensors.push_back(call.added.scores);
  }
  if (call.key_distances.defined()) {
    tensors.push_back(call.key_distances);
  }
  // A list of another type would be no tensors to autograd.
  if (std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& tensor) { return any_is_followed({tensor}); })) {
    return RelativeFunction::apply(at::TensorList(tensors), call, &row);
  }
  return row.forward(call).output;
}

}  // namespace weft::attention
