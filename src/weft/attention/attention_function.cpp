// SPDX-License-Identifier: Apache-2.0
// Saves query, key, value, output and log-sum-exp; the scores are computed again in the backward pass. Autocast is held
// off inside: it would round float32 products to bfloat16.
#include "weft/attention/attention_function.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

#include "weft/attention/blocks/block_attention.h"
#include "weft/attention/dense_attention.h"
#include "weft/attention/kernel_attention.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// LibTorch's products know no padding: 0 x NaN is NaN.
Call filled(Call call) {
  call.key = without_padding(call.key, call.key_keep);
  call.value = without_padding(call.value, call.key_keep);
  return call;
}

Forward run_forward(const Call& call, Path path) {
  switch (path) {
    case Path::kFused:
      return kernel_forward(call, kernels::chosen_isa());
    case Path::kScalar:
      return kernel_forward(call, kernels::InstructionSet::kScalar);
    case Path::kDense:
      return dense_forward(call);
    default:
      return block_forward(filled(call));
  }
}

Gradients run_backward(const Call& call, Path path, const Forward& forward, const at::Tensor& output_gradient) {
  switch (path) {
    case Path::kFused:
      return kernel_backward(call, kernels::chosen_isa(), forward, output_gradient);
    case Path::kScalar:
      return kernel_backward(call, kernels::InstructionSet::kScalar, forward, output_gradient);
    case Path::kDense:
      return dense_backward(call, forward, output_gradient);
    default:
      return block_backward(filled(call), forward, output_gradient);
  }
}

// What the backward pass needs beside tensors.
struct SavedCall : torch::CustomClassHolder {
  SavedCall(Call saved_call, Path saved_path) : call(std::move(saved_call)), path(saved_path) {}
  Call call;  // without its tensors
  Path path;
};

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

class AttentionFunction : public torch::autograd::Function<AttentionFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& query, const at::Tensor& key,
                               const at::Tensor& value, Call call, Path path) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    call.query = query;
    call.key = key;
    call.value = value;
    Forward result = run_forward(call, path);
    context->save_for_backward({query, key, value, result.output, result.log_sum_exp});
    context->mark_non_differentiable({result.log_sum_exp});
    call.query = call.key = call.value = at::Tensor();
    context->saved_data["call"] = c10::IValue::make_capsule(c10::make_intrusive<SavedCall>(std::move(call), path));
    return {result.output, result.log_sum_exp};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const variable_list saved = context->get_saved_variables();
    const auto state = c10::static_intrusive_pointer_cast<SavedCall>(context->saved_data["call"].toCapsule());
    Call call = state->call;
    call.query = saved[0];
    call.key = saved[1];
    call.value = saved[2];
    variable_list result = first_gradients(call, state->path, {saved[3], saved[4]}, gradients[0]);
    if (at::GradMode::is_enabled()) {
      for (at::Tensor& gradient : result) {
        gradient = RefuseSecondDerivative::apply(gradient, gradients[0], saved[0], saved[1], saved[2]);
      }
    }
    return {result[0], result[1], result[2], at::Tensor(), at::Tensor()};
  }

 private:
  static variable_list first_gradients(const Call& call, Path path, const Forward& forward,
                                       const at::Tensor& gradient) {
    const at::NoGradGuard no_grad;
    const at::Tensor incoming = gradient.defined() ? gradient : at::zeros_like(forward.output);
    const Gradients result = run_backward(call, path, forward, incoming);
    return {result.query, result.key, result.value};
  }
};

}  // namespace

Forward differentiable_attention(const Call& call, Path path) {
  const variable_list result = AttentionFunction::apply(call.query, call.key, call.value, call, path);
  return {result[0], result[1]};
}

}  // namespace weft::attention
