// SPDX-License-Identifier: Apache-2.0
// A group at once. Clipping costs no pass of its own: the fused kernel divides each gradient as it reads it.
#include "weft/training/optimizers/adamw.h"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>

namespace weft::training {

NamedTensors fresh_moments(const at::Tensor& parameter) {
  return {{"first_moment", at::zeros_like(parameter)}, {"second_moment", at::zeros_like(parameter)}};
}

AdamW::AdamW(const std::vector<ParameterGroup>& groups, const AdamOptions& options)
    : Optimizer(groups, fresh_moments), options_(options) {}

void AdamW::update(const Part& part) {
  std::vector<at::Tensor> parameters;
  std::vector<at::Tensor> gradients;
  std::vector<at::Tensor> first;
  std::vector<at::Tensor> second;
  for (const Slot* slot : part.slots) {
    parameters.push_back(slot->parameter);
    gradients.push_back(slot->parameter.grad());
    first.push_back(slot->kept(0));
    second.push_back(slot->kept(1));
  }
  const at::TensorOptions floats = parameters.front().options().dtype(at::kFloat);
  const at::Tensor divisor = at::full({}, part.gradient_divisor, floats);
  // The kernel only reads the step, so that all parameters can share one.
  const at::Tensor step = at::full({}, static_cast<double>(steps()), floats);
  at::_fused_adamw_(parameters, gradients, first, second, {}, std::vector<at::Tensor>(parameters.size(), step),
                    part.learning_rate, options_.beta1, options_.beta2, part.weight_decay, options_.epsilon,
                    /*amsgrad=*/false, /*maximize=*/false, divisor);
  // The fused kernel leaves versions as they were; whoever keeps a form of a parameter (packed weights) must see a
  // change.
  for (const at::Tensor& parameter : parameters) {
    parameter.unsafeGetTensorImpl()->bump_version();
  }
}

}  // namespace weft::training
