// SPDX-License-Identifier: Apache-2.0
// Activation checkpointing as a custom autograd function.
#include "weft/layers/replay/recompute.h"

#include <ATen/core/ivalue.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

#include "weft/layers/inference/packed_weight.h"
#include "weft/layers/precision.h"

namespace weft::layers {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Function = std::function<at::Tensor(const at::Tensor&)>;

/// What the backward pass needs besides tensors.
struct Recipe : torch::CustomClassHolder {
  Recipe(Function its_function, at::DeviceType device) : function(std::move(its_function)), autocast(device) {}
  Function function;
  AutocastState autocast;
};

thread_local bool recomputing = false;

class Recomputing {
 public:
  Recomputing() noexcept : before_(recomputing) { recomputing = true; }
  ~Recomputing() { recomputing = before_; }
  Recomputing(const Recomputing&) = delete;
  Recomputing& operator=(const Recomputing&) = delete;

 private:
  bool before_;
};

at::Tensor run_again(const Recipe& recipe, const at::Tensor& x) {
  const Recomputing again;
  return recipe.function(x);
}

struct RecomputeFunction : torch::autograd::Function<RecomputeFunction> {
  static at::Tensor forward(AutogradContext* context, const c10::intrusive_ptr<Recipe>& recipe, const at::Tensor& x,
                            at::TensorList parameters) {
    variable_list saved = {x};
    saved.insert(saved.end(), parameters.begin(), parameters.end());
    context->save_for_backward(saved);
    context->saved_data["recipe"] = at::IValue::make_capsule(recipe);
    // Autograd functions run without gradient mode: the function records nothing here, and is no inference either.
    const WithoutPacking plain_products;
    return recipe->function(x);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto recipe = c10::static_intrusive_pointer_cast<Recipe>(context->saved_data["recipe"].toCapsule());
    variable_list inputs = context->get_saved_variables();
    const AutocastState::Scope autocast(recipe->autocast);
    const at::AutoGradMode with_gradients(true);
    // Cut off from the outer graph, so that the recomputed one ends at x and goes with this call.
    inputs[0] = inputs[0].detach().requires_grad_(context->needs_input_grad(0));
    variable_list result = gradients_of(run_again(*recipe, inputs[0]), gradients[0], inputs);
    result.insert(result.begin(), at::Tensor());  // the recipe has no gradient
    return result;
  }
};

}  // namespace

bool is_recomputing() noexcept { return recomputing; }

std::vector<at::Tensor> gradients_of(const at::Tensor& output, const at::Tensor& gradient,
                                     const std::vector<at::Tensor>& inputs) {
  variable_list needed;
  for (const at::Tensor& input : inputs) {
    if (input.requires_grad()) {
      needed.push_back(input);
    }
  }
  // The last argument allows inputs that the output does not depend on: their gradients stay undefined.
  const variable_list found = torch::autograd::grad({output}, needed, {gradient}, std::nullopt, false, true);
  variable_list all;
  std::size_t next = 0;
  for (const at::Tensor& input : inputs) {
    all.push_back(input.requires_grad() ? found[next++] : at::Tensor());
  }
  return all;
}

at::Tensor recompute(const Function& function, const at::Tensor& x, const std::vector<at::Tensor>& parameters) {
  if (!at::GradMode::is_enabled()) {
    return function(x);
  }
  return RecomputeFunction::apply(c10::make_intrusive<Recipe>(function, x.device().type()), x,
                                  at::TensorList(parameters));
}

}  // namespace weft::layers
