// SPDX-License-Identifier: Apache-2.0
// One parameter after another: its norm and that of its update decide how far it moves.
#include "weft/training/optimizers/lamb.h"

#include <cmath>

#include <ATen/TensorOperators.h>

namespace weft::training {

Lamb::Lamb(const std::vector<ParameterGroup>& groups, const AdamOptions& options)
    : Optimizer(groups, fresh_moments), options_(options) {}

void Lamb::update(const Slot& slot, const Part& part) const {
  const at::Tensor gradient = slot.parameter.grad() / part.gradient_divisor;
  slot.kept(0).mul_(options_.beta1).add_(gradient, 1 - options_.beta1);
  slot.kept(1).mul_(options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);
  const auto t = static_cast<double>(steps());
  const at::Tensor first = slot.kept(0) / (1 - std::pow(options_.beta1, t));
  const at::Tensor root = (slot.kept(1) / (1 - std::pow(options_.beta2, t))).sqrt_();
  const at::Tensor direction = first.div_(root.add_(options_.epsilon)).add_(slot.parameter, part.weight_decay);
  const double size = slot.parameter.norm().item<double>();
  const double length = direction.norm().item<double>();
  const double ratio = size > 0 && length > 0 ? size / length : 1.0;
  slot.parameter.add_(direction, -part.learning_rate * ratio);
}

void Lamb::update(const Part& part) {
  for (const Slot* slot : part.slots) {
    update(*slot, part);
  }
}

}  // namespace weft::training
