// SPDX-License-Identifier: Apache-2.0
// Two groups, with and without decay. Clipping costs no pass of its own: the fused kernel divides each gradient as it
// reads it.
#include "weft/training/adamw.h"

#include <map>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include "weft/core/error.h"

namespace weft::training {
namespace {

// Moves one moment out of what a checkpoint gave; what is left over at the end belongs to no parameter.
void take_moment(std::map<std::string, at::Tensor>& given, const std::string& name, at::Tensor& moment) {
  const auto found = given.find(name);
  if (found == given.end()) {
    fail(ErrorKind::kFormat, "the optimiser's state lacks ", name);
  }
  if (found->second.sizes() != moment.sizes() || found->second.scalar_type() != moment.scalar_type()) {
    fail(ErrorKind::kFormat, "the optimiser's state: ", name, " must be ", moment.dtype(), " ", moment.sizes(),
         ", found ", found->second.dtype(), " ", found->second.sizes());
  }
  moment.copy_(found->second);
  given.erase(found);
}

}  // namespace

bool decays(const std::string& name, const at::Tensor& parameter) {
  return parameter.dim() >= 2 && name.find("embed") == std::string::npos;
}

AdamW::AdamW(const NamedTensors& parameters, const AdamWOptions& options) : options_(options) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, parameter] : parameters) {
    std::vector<Slot>& group = decays(name, parameter) ? decaying_ : constant_;
    group.push_back({name, parameter, at::zeros_like(parameter), at::zeros_like(parameter)});
  }
}

void AdamW::update(const std::vector<Slot>& group, double weight_decay, double learning_rate,
                   const at::Tensor& divisor) {
  std::vector<at::Tensor> parameters;
  std::vector<at::Tensor> gradients;
  std::vector<at::Tensor> first;
  std::vector<at::Tensor> second;
  for (const Slot& slot : group) {
    if (slot.parameter.grad().defined()) {
      parameters.push_back(slot.parameter);
      gradients.push_back(slot.parameter.grad());
      first.push_back(slot.first);
      second.push_back(slot.second);
    }
  }
  if (parameters.empty()) {
    return;
  }
  // The kernel only reads the step, so that all parameters can share one.
  const at::Tensor step = at::full({}, static_cast<double>(steps_), divisor.options());
  at::_fused_adamw_(parameters, gradients, first, second, {}, std::vector<at::Tensor>(parameters.size(), step),
                    learning_rate, options_.beta1, options_.beta2, weight_decay, options_.epsilon, /*amsgrad=*/false,
                    /*maximize=*/false, divisor);
}

void AdamW::step(double learning_rate, double gradient_divisor) {
  const at::NoGradGuard no_grad;
  ++steps_;
  for (const std::vector<Slot>* group : groups()) {
    if (!group->empty()) {
      const at::Tensor divisor = at::full({}, gradient_divisor, group->front().parameter.options().dtype(at::kFloat));
      update(*group, group == &decaying_ ? options_.weight_decay : 0.0, learning_rate, divisor);
    }
  }
}

void AdamW::clear_gradients() {
  for (const std::vector<Slot>* group : groups()) {
    for (const Slot& slot : *group) {
      slot.parameter.mutable_grad().reset();
    }
  }
}

double AdamW::gradient_norm() const {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (const std::vector<Slot>* group : groups()) {
    for (const Slot& slot : *group) {
      if (slot.parameter.grad().defined()) {
        gradients.push_back(slot.parameter.grad());
      }
    }
  }
  return gradients.empty() ? 0.0 : at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients))).item<double>();
}

NamedTensors AdamW::state() const {
  NamedTensors state;
  for (const std::vector<Slot>* group : groups()) {
    for (const Slot& slot : *group) {
      state.emplace_back("first_moment." + slot.name, slot.first);
      state.emplace_back("second_moment." + slot.name, slot.second);
    }
  }
  return state;
}

void AdamW::load_state(const NamedTensors& state, std::int64_t steps) {
  const at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> given(state.begin(), state.end());
  for (std::vector<Slot>* group : {&decaying_, &constant_}) {
    for (Slot& slot : *group) {
      take_moment(given, "first_moment." + slot.name, slot.first);
      take_moment(given, "second_moment." + slot.name, slot.second);
    }
  }
  if (!given.empty()) {
    fail(ErrorKind::kFormat, "the optimiser's state has ", given.begin()->first, ", which the model does not");
  }
  steps_ = steps;
}

}  // namespace weft::training
