// SPDX-License-Identifier: Apache-2.0
// The order of operations is that of transformers' Adafactor, so that float32 rounds alike.
#include "weft/training/optimizers/adafactor.h"

#include <algorithm>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "weft/attention/devices/device_work.h"

namespace weft::training {
namespace {

NamedTensors fresh_squares(const at::Tensor& parameter) {
  if (parameter.dim() < 2) {
    return {{"square", at::zeros_like(parameter)}};
  }
  const auto sizes = parameter.sizes();
  std::vector<std::int64_t> columns(sizes.begin(), sizes.end());
  columns.erase(columns.end() - 2);
  return {{"square_row", at::zeros(sizes.slice(0, sizes.size() - 1), parameter.options())},
          {"square_column", at::zeros(columns, parameter.options())}};
}

/// Of the numbers of a tensor, where they are.
at::Tensor root_mean_square(const at::Tensor& tensor) {
  return tensor.norm().div_(std::sqrt(static_cast<double>(std::max<std::int64_t>(tensor.numel(), 1))));
}

double root_mean_square_number(const at::Tensor& tensor) {
  return tensor.norm().item<double>() / std::sqrt(static_cast<double>(std::max<std::int64_t>(tensor.numel(), 1)));
}

// 1 / sqrt of the rank-one estimate of the squared gradient.
at::Tensor inverse_root(const at::Tensor& row, const at::Tensor& column) {
  const at::Tensor of_rows = (row / row.mean(-1, true)).rsqrt_().unsqueeze(-1);
  return of_rows * column.unsqueeze(-2).rsqrt();
}

}  // namespace

Adafactor::Adafactor(const std::vector<ParameterGroup>& groups, const AdafactorOptions& options)
    : Optimizer(groups, fresh_squares), options_(options) {}

void Adafactor::update(const Slot& slot, const Part& part) const {
  const at::Tensor gradient = slot.parameter.grad() / part.gradient_divisor;
  const double beta = 1 - std::pow(static_cast<double>(steps()), options_.decay_rate);
  const at::Tensor squares = gradient.square().add_(options_.gradient_epsilon);
  at::Tensor update;
  if (slot.state.size() == 2) {
    slot.kept(0).mul_(beta).add_(squares.mean(-1), 1 - beta);
    slot.kept(1).mul_(beta).add_(squares.mean(-2), 1 - beta);
    update = inverse_root(slot.kept(0), slot.kept(1)).mul_(gradient);
  } else {
    slot.kept(0).mul_(beta).add_(squares, 1 - beta);
    update = slot.kept(0).rsqrt().mul_(gradient);
  }
  if (attention::has_own_memory(update.device())) {
    move_on_device(slot, part, update);
    return;
  }
  const double size =
      options_.scale_by_parameter ? std::max(options_.parameter_epsilon, root_mean_square_number(slot.parameter)) : 1.0;
  const double rate = part.learning_rate * size;
  update.div_(std::max(1.0, root_mean_square_number(update) / options_.clip_threshold)).mul_(rate);
  slot.parameter.add_(slot.parameter, -part.weight_decay * rate).sub_(update);
}

// The same on a GPU, which knows both means before the host does.
void Adafactor::move_on_device(const Slot& slot, const Part& part, at::Tensor& update) const {
  update.div_(root_mean_square(update).div_(options_.clip_threshold).clamp_min_(1.0));
  update.mul_(part.learning_rate);
  if (part.weight_decay != 0.0) {
    update.add_(slot.parameter, part.weight_decay * part.learning_rate);
  }
  if (options_.scale_by_parameter) {
    update.mul_(root_mean_square(slot.parameter).clamp_min_(options_.parameter_epsilon));
  }
  slot.parameter.sub_(update);
}

void Adafactor::update(const Part& part) {
  for (const Slot* slot : part.slots) {
    update(*slot, part);
  }
}

}  // namespace weft::training
