// SPDX-License-Identifier: Apache-2.0
// Walking the groups, and the state's names.
#include "weft/training/optimizers/optimizer.h"

#include <map>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>

#include "weft/core/error.h"

namespace weft::training {
namespace {

// Moves one tensor out of what a checkpoint gave; what is left over at the end belongs to no parameter.
void take_state(std::map<std::string, at::Tensor>& given, const std::string& name, const at::Tensor& kept) {
  const auto found = given.find(name);
  if (found == given.end()) {
    fail(ErrorKind::kFormat, "the optimiser's state lacks ", name);
  }
  if (found->second.sizes() != kept.sizes() || found->second.scalar_type() != kept.scalar_type()) {
    fail(ErrorKind::kFormat, "the optimiser's state: ", name, " must be ", kept.dtype(), " ", kept.sizes(), ", found ",
         found->second.dtype(), " ", found->second.sizes());
  }
  kept.copy_(found->second);
  given.erase(found);
}

}  // namespace

Optimizer::Optimizer(const std::vector<ParameterGroup>& groups,
                     const std::function<NamedTensors(const at::Tensor&)>& fresh) {
  const at::NoGradGuard no_grad;
  for (const ParameterGroup& group : groups) {
    groups_.push_back({{}, group.weight_decay, group.rate_factor});
    for (const auto& [name, parameter] : group.parameters) {
      groups_.back().slots.push_back({name, parameter, fresh(parameter)});
    }
  }
}

void Optimizer::step(double learning_rate, double gradient_divisor) {
  const at::NoGradGuard no_grad;
  ++steps_;
  for (const Group& group : groups_) {
    Part part{{}, group.weight_decay, learning_rate * group.rate_factor, gradient_divisor};
    for (const Slot& slot : group.slots) {
      if (slot.parameter.grad().defined()) {
        part.slots.push_back(&slot);
      }
    }
    if (!part.slots.empty()) {
      update(part);
    }
  }
}

void Optimizer::clear_gradients() {
  for (const Group& group : groups_) {
    for (const Slot& slot : group.slots) {
      slot.parameter.mutable_grad().reset();
    }
  }
}

at::Tensor Optimizer::gradient_norm() const {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (const Group& group : groups_) {
    for (const Slot& slot : group.slots) {
      if (slot.parameter.grad().defined()) {
        gradients.push_back(slot.parameter.grad());
      }
    }
  }
  return gradients.empty() ? at::Tensor() : at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients)));
}

NamedTensors Optimizer::state() const {
  NamedTensors state;
  for (const Group& group : groups_) {
    for (const Slot& slot : group.slots) {
      for (const auto& [kind, kept] : slot.state) {
        state.emplace_back(kind + "." + slot.name, kept);
      }
    }
  }
  return state;
}

void Optimizer::load_state(const NamedTensors& state, std::int64_t steps) {
  const at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> given(state.begin(), state.end());
  for (const auto& [name, kept] : this->state()) {
    take_state(given, name, kept);
  }
  if (!given.empty()) {
    fail(ErrorKind::kFormat, "the optimiser's state has ", given.begin()->first, ", which the model does not");
  }
  steps_ = steps;
}

}  // namespace weft::training
