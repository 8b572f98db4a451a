// SPDX-License-Identifier: Apache-2.0
// Forward and backward passes of a step, and what follows from them. The host waits for the device once a step: for
// loss and norm together.
#include "weft/training/update.h"

#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include "weft/attention/devices/device_work.h"
#include "weft/core/error.h"
#include "weft/core/interrupt.h"
#include "weft/core/random.h"
#include "weft/training/optimizers/parameter_groups.h"
#include "weft/training/precision.h"
#include "weft/training/processes/process_group.h"

namespace weft::training {
namespace {

// "gen" in ASCII: a stream of its own beside those of data order and dropout.
constexpr std::uint64_t kGeneratorStream = 0x67656E;

void check_finite(double value, const char* name, std::int64_t step) {
  if (!std::isfinite(value)) {
    throw Error(ErrorKind::kNumeric, concat("the ", name, " became ", value, " in step ", step + 1),
                "lower the learning rate, lengthen the warm-up, or train in float32");
  }
}

/// Two scalars as numbers of the CPU, in one transfer. `second` is 0 where it is undefined.
std::pair<double, double> brought_home(const at::Tensor& first, const at::Tensor& second) {
  if (!second.defined() || !attention::has_own_memory(first.device())) {
    return {first.item<double>(), second.defined() ? second.item<double>() : 0.0};
  }
  const at::Tensor both = at::stack({first.to(at::kDouble), second.to(at::kDouble)}).cpu();
  return {both[0].item<double>(), both[1].item<double>()};
}

}  // namespace

Update::Update(Task& task, const TrainerConfig& config) : task_(task), config_(config) {
  const NamedTensors parameters = task.parameters();
  freeze(parameters, config.freeze);
  optimizer_ = make_optimizer(parameters, config);
  const ProcessGroup& group = processes();
  require(group.size() <= parts_per_step(config), "a step has ", parts_per_step(config), " batches: at most so many ",
          "processes can share them, found ", group.size());
  if (!group.is_alone()) {
    std::vector<at::Tensor> trained;
    for (const auto& [name, parameter] : parameters) {
      if (parameter.requires_grad()) {
        trained.push_back(parameter);
      }
    }
    sum_ = std::make_unique<GradientSum>(std::move(trained), processes());
  }
}

at::Tensor Update::part_loss(std::int64_t step, std::int64_t part) {
  at::manual_seed(random_bits(static_cast<std::uint64_t>(config_.seed) ^ kGeneratorStream,
                              static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(part)));
  // The forward pass only: the backward pass follows the dtypes that it recorded.
  const AutocastGuard autocast(config_.dtype);
  return task_.loss(step, part);
}

// Weights of the parts of this process, of which all parts of the step together have the mean 1. Others wait for this
// process within a step: whether it is done at all is agreed on before it.
std::optional<std::vector<double>> Update::part_weights(std::int64_t step) {
  ProcessGroup& group = processes();
  const std::int64_t parts = parts_per_step(config_);
  std::vector<double> weights;
  for (std::int64_t part = group.rank(); part < parts; part += group.size()) {
    weights.push_back(task_.weight(step, part));
  }
  const double own = std::accumulate(weights.begin(), weights.end(), 0.0);
  const at::Tensor agreed = at::tensor({interrupted() ? 1.0 : 0.0, own}, at::kDouble);
  group.begin_sum(agreed)();
  if (agreed[0].item<double>() > 0) {
    return std::nullopt;
  }
  const double mean = agreed[1].item<double>() / static_cast<double>(parts);
  for (double& weight : weights) {
    weight /= mean;
  }
  return weights;
}

// The sum of the parts' losses of this process, on its device.
std::optional<at::Tensor> Update::accumulate(std::int64_t step) {
  ProcessGroup& group = processes();
  const std::int64_t parts = parts_per_step(config_);
  const std::optional<std::vector<double>> weights = part_weights(step);
  if (!weights) {
    return std::nullopt;
  }
  at::Tensor total;
  std::size_t own = 0;
  for (std::int64_t part = group.rank(); part < parts; part += group.size()) {
    if (group.is_alone() && interrupted()) {
      return std::nullopt;
    }
    const double weight = (*weights)[own++];
    const at::Tensor loss = part_loss(step, part);
    if (sum_ && part + group.size() >= parts) {
      sum_->arm();
    }
    (parts == 1 ? loss : loss / (static_cast<double>(parts) / weight)).backward();
    const at::Tensor value = loss.detach() * weight;
    total = total.defined() ? total + value : value;
  }
  if (sum_) {
    sum_->finish();
  }
  return total;
}

std::optional<UpdateResult> Update::run(std::int64_t step, const std::function<double()>& learning_rate) {
  optimizer_->clear_gradients();
  const std::optional<at::Tensor> total = accumulate(step);
  if (!total) {
    optimizer_->clear_gradients();
    return std::nullopt;
  }
  // Before the weights: what is on disk and in memory is still that of the step before.
  const auto [own_loss, norm] = brought_home(*total, optimizer_->gradient_norm());
  const double loss = processes().sum(own_loss) / static_cast<double>(parts_per_step(config_));
  check_finite(loss, "loss", step);
  check_finite(norm, "norm of the gradient", step);
  const UpdateResult result{loss, norm, learning_rate()};
  // Clipping divides within the optimiser's own pass; nothing is divided when the norm is small enough.
  const bool clip = config_.clip_norm > 0 && norm > config_.clip_norm;
  optimizer_->step(result.learning_rate, clip ? norm / config_.clip_norm : 1.0);
  task_.after_step(step + 1, static_cast<std::uint64_t>(config_.seed));
  return result;
}

}  // namespace weft::training
