// SPDX-License-Identifier: Apache-2.0
// Reversible layers as one autograd function over all of them: one function a layer would keep each layer's output.
#include "weft/layers/replay/reversible.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/ivalue.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "weft/core/work/pieces.h"
#include "weft/layers/inference/packed_weight.h"
#include "weft/layers/precision.h"
#include "weft/layers/replay/recompute.h"

namespace weft::layers {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What the backward pass needs besides tensors.
struct ReversibleRecipe : torch::CustomClassHolder {
  ReversibleRecipe(std::vector<ReversibleLayer> its_layers, at::DeviceType device)
      : layers(std::move(its_layers)), autocast(device) {}
  std::vector<ReversibleLayer> layers;
  AutocastState autocast;
};

Streams go_through(const std::vector<ReversibleLayer>& layers, Streams x, std::vector<at::Tensor>* seen) {
  for (const ReversibleLayer& layer : layers) {
    if (seen != nullptr) {
      seen->push_back(x.second.detach());
    }
    x.first = x.first + layer.f(x.second);
    x.second = x.second + layer.g(x.first);
    end_piece(x.first.size(0) * x.first.size(1));
  }
  return x;
}

/// A stream on its way back, and its gradient.
struct Half {
  at::Tensor value;
  at::Tensor gradient;
};

/// Undoes target = target + function(source): the target gets its earlier value, the source the gradient that it has
/// through the function. Returns the gradients of `leaves`.
variable_list undo(const ReversibleLayer::Function& function, const variable_list& leaves, Half& source, Half& target) {
  const at::AutoGradMode with_gradients(true);
  // Cut off from the outer graph, so that the recomputed one ends here and goes with this call.
  variable_list inputs = {source.value.detach().requires_grad_(true)};
  inputs.insert(inputs.end(), leaves.begin(), leaves.end());
  const at::Tensor added = function(inputs.front());
  target.value = target.value - added.detach();
  // Under autocast a function may give a shorter dtype, to which the sum's gradient was rounded, too.
  variable_list found = gradients_of(added, target.gradient.to(added.scalar_type()), inputs);
  if (found.front().defined()) {
    source.gradient = source.gradient + found.front();
  }
  found.erase(found.begin());
  return found;
}

struct ReversibleFunction : torch::autograd::Function<ReversibleFunction> {
  static variable_list forward(AutogradContext* context, const c10::intrusive_ptr<ReversibleRecipe>& recipe,
                               const at::Tensor& first, const at::Tensor& second, at::TensorList leaves,
                               std::vector<at::Tensor>* seen) {
    // Autograd functions run without gradient mode: the layers record nothing here, and are no inference either.
    const WithoutPacking plain_products;
    const Streams end = go_through(recipe->layers, {first, second}, seen);
    variable_list saved = {end.first, end.second};
    saved.insert(saved.end(), leaves.begin(), leaves.end());
    context->save_for_backward(saved);
    context->saved_data["recipe"] = at::IValue::make_capsule(recipe);
    return {end.first, end.second};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto recipe = c10::static_intrusive_pointer_cast<ReversibleRecipe>(context->saved_data["recipe"].toCapsule());
    const variable_list saved = context->get_saved_variables();
    const AutocastState::Scope autocast(recipe->autocast);
    Half first{saved[0].detach(), gradients[0]};
    Half second{saved[1].detach(), gradients[1]};
    variable_list result(saved.size() + 2);  // the recipe and `seen` have none, each half and each leaf has one
    auto end = std::ssize(saved);
    const auto back = [&](const ReversibleLayer::Function& function, std::size_t count, Half& source, Half& target) {
      const auto begin = end - static_cast<std::ptrdiff_t>(count);
      const variable_list leaves(saved.begin() + begin, saved.begin() + end);
      variable_list found = undo(function, leaves, source, target);
      std::move(found.begin(), found.end(), result.begin() + begin + 1);
      end = begin;
    };
    for (std::size_t i = recipe->layers.size(); i-- > 0;) {
      const ReversibleLayer& layer = recipe->layers[i];
      back(layer.g, layer.g_leaves.size(), first, second);
      back(layer.f, layer.f_leaves.size(), second, first);
    }
    result[1] = first.gradient;
    result[2] = second.gradient;
    return result;
  }
};

std::vector<at::Tensor> leaves_of(const std::vector<ReversibleLayer>& layers) {
  std::vector<at::Tensor> leaves;
  for (const ReversibleLayer& layer : layers) {
    leaves.insert(leaves.end(), layer.f_leaves.begin(), layer.f_leaves.end());
    leaves.insert(leaves.end(), layer.g_leaves.begin(), layer.g_leaves.end());
  }
  return leaves;
}

}  // namespace

Streams reversible(const std::vector<ReversibleLayer>& layers, const Streams& x, std::vector<at::Tensor>* seen) {
  if (layers.empty() || !at::GradMode::is_enabled()) {
    return go_through(layers, x, seen);
  }
  const variable_list end =
      ReversibleFunction::apply(c10::make_intrusive<ReversibleRecipe>(layers, x.first.device().type()), x.first,
                                x.second, at::TensorList(leaves_of(layers)), seen);
  return {end[0], end[1]};
}

}  // namespace weft::layers
