// SPDX-License-Identifier: Apache-2.0
// Gradients of attention. Saves query, key, value, distance table, output and log-sum-exp; the scores are computed
// again in the backward pass.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/custom_function.h>

#include <variant>

#include "weft/attention/operator/autograd.h"
#include "weft/attention/operator/checks.h"
#include "weft/attention/operator/paths.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Connects a first gradient to what it came from, only to refuse the second one.
class RefuseSecondDerivative : public torch::autograd::Function<RefuseSecondDerivative> {
 public:
  static at::Tensor forward(AutogradContext*, const at::Tensor& gradient, at::TensorList) { return gradient; }
  static variable_list backward(AutogradContext*, const variable_list&) {
    fail(ErrorKind::kUnsupported, "attention has no second derivative: its backward pass is not differentiable");
  }
};

// A call without the tensors that have gradients, which autograd keeps: computed here, or by the dispatcher for who
// traces it.
class Computation : public torch::CustomClassHolder {
 public:
  template <typename Kind>
  explicit Computation(const Kind& call) : call_(without_tensors(call)) {
    check_followed(call);
  }

  /// `inputs`: query, key, value and the scores of a distance table, which may be undefined.
  Forward forward(const variable_list& inputs) const {
    const auto call = complete(inputs, false);
    const auto* here = std::get_if<Call>(&call);
    return here != nullptr ? run_forward(*here) : dispatch_forward(std::get<Arguments>(call));
  }

  /// `saved`: those, output and log-sum-exp.
  Gradients backward(const variable_list& saved, const at::Tensor& output_gradient) const {
    const auto call = complete(saved, saved[3].defined() && saved[3].requires_grad());
    const Forward forward{saved[4], saved[5]};
    const auto* here = std::get_if<Call>(&call);
    if (here == nullptr) {
      return dispatch_backward(std::get<Arguments>(call), forward, output_gradient);
    }
    check_results(here->query, here->value, forward, output_gradient);
    return run_backward(*here, forward, output_gradient);
  }

 private:
  using AnyCall = std::variant<Call, Arguments>;

  template <typename Kind>
  static AnyCall without_tensors(Kind call) {
    call.query = call.key = call.value = at::Tensor();
    set_distances(call, {});
    return call;
  }

  static void check_followed(const Call& call) {
    require(!call.relative.query.defined(),
            "attention: autograd follows no relative term of a call; call relative_attention()");
  }
  static void check_followed(const Arguments& /*call*/) {}

  static void set_distances(Call& call, const at::Tensor& scores) { call.distances.scores = scores; }
  static void set_distances(Arguments& call, const at::Tensor& scores) {
    call.distances = scores.defined() ? OptionalTensor(scores) : std::nullopt;
  }

  AnyCall complete(const variable_list& inputs, bool asks_distances) const {
    AnyCall call = call_;
    std::visit(
        [&](auto& each) {
          each.query = inputs[0];
          each.key = inputs[1];
          each.value = inputs[2];
          set_distances(each, inputs[3]);
          each.asks_distances = asks_distances;
        },
        call);
    return call;
  }

  AnyCall call_;
};

class AttentionFunction : public torch::autograd::Function<AttentionFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& query, const at::Tensor& key,
                               const at::Tensor& value, const OptionalTensor& given_distances,
                               const c10::intrusive_ptr<Computation>& computation) {
    const at::Tensor distances = given_distances.value_or(at::Tensor());
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const Forward result = computation->forward({query, key, value, distances});
    context->save_for_backward({query, key, value, distances, result.output, result.log_sum_exp});
    context->mark_non_differentiable({result.log_sum_exp});
    context->saved_data["computation"] =
        c10::IValue::make_capsule(c10::static_intrusive_pointer_cast<torch::CustomClassHolder>(computation));
    return {result.output, result.log_sum_exp};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto computation =
        c10::static_intrusive_pointer_cast<Computation>(context->saved_data["computation"].toCapsule());
    variable_list result = first_gradients(*computation, saved, gradients[0]);
    if (at::GradMode::is_enabled()) {
      variable_list sources = {gradients[0], saved[0], saved[1], saved[2]};
      if (saved[3].defined()) {  // autograd takes no undefined tensor
        sources.push_back(saved[3]);
      }
      for (at::Tensor& gradient : result) {
        gradient = gradient.defined() ? RefuseSecondDerivative::apply(gradient, at::TensorList(sources)) : gradient;
      }
    }
    return {result[0], result[1], result[2], result[3], at::Tensor()};
  }

 private:
  static variable_list first_gradients(const Computation& computation, const variable_list& saved,
                                       const at::Tensor& gradient) {
    const at::NoGradGuard no_grad;
    const at::Tensor incoming = gradient.defined() ? gradient : at::zeros_like(saved[4]);
    const Gradients found = computation.backward(saved, incoming);
    return {found.query, found.key, found.value, found.distances};
  }
};

// Autograd takes no undefined tensor, but an optional one.
OptionalTensor distances_of(const Call& call) {
  return call.distances.scores.defined() ? OptionalTensor(call.distances.scores) : std::nullopt;
}
OptionalTensor distances_of(const Arguments& call) { return call.distances; }

template <typename Kind>
Forward apply(const Kind& call) {
  const variable_list results = AttentionFunction::apply(call.query, call.key, call.value, distances_of(call),
                                                         c10::make_intrusive<Computation>(call));
  return {results[0], results[1]};
}

}  // namespace

bool asks_for_gradients(const Call& call) {
  return !c10::impl::tls_is_dispatch_keyset_excluded(c10::autograd_dispatch_keyset) &&
         any_is_followed({call.query, call.key, call.value, call.distances.scores});
}

Forward differentiable(const Call& call) { return asks_for_gradients(call) ? apply(call) : run_forward(call); }

Forward differentiable(const Arguments& arguments) { return apply(arguments); }

}  // namespace weft::attention
