// SPDX-License-Identifier: Apache-2.0
// One parameter after another: its norm and that of its update decide how far it moves. A GPU knows both before the
// host does, which waits for neither.
#include "weft/training/optimizers/lamb.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>

#include "weft/attention/devices/device_work.h"

namespace weft::training {
namespace {

/// |w| / |u|, or 1 where one of them is 0.
double ratio_of(const at::Tensor& parameter, const at::Tensor& direction) {
  const double size = parameter.norm().item<double>();
  const double length = direction.norm().item<double>();
  return size > 0 && length > 0 ? size / length : 1.0;
}

at::Tensor ratio_on_device(const at::Tensor& parameter, const at::Tensor& direction) {
  const at::Tensor size = parameter.norm();
  const at::Tensor length = direction.norm();
  return at::where(size.gt(0).logical_and_(length.gt(0)), size / length, 1.0);
}

}  // namespace

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
  if (attention::has_own_memory(slot.parameter.device())) {
    slot.parameter.sub_(direction * ratio_on_device(slot.parameter, direction).mul_(part.learning_rate));
    return;
  }
  slot.parameter.add_(direction, -part.learning_rate * ratio_of(slot.parameter, direction));
}

void Lamb::update(const Part& part) {
  for (const Slot* slot : part.slots) {
    update(*slot, part);
  }
}

}  // namespace weft::training
