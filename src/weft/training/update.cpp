// SPDX-License-Identifier: Apache-2.0
// Forward and backward passes of a step, and what follows from them. The host waits for the device twice a step: for
// loss and norm.
#include "weft/training/update.h"

#include <cmath>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

#include "weft/core/error.h"
#include "weft/core/interrupt.h"
#include "weft/core/random.h"
#include "weft/training/precision.h"

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

}  // namespace

Update::Update(Task& task, const TrainerConfig& config)
    : task_(task),
      config_(config),
      optimizer_(task.parameters(), {config.beta1, config.beta2, config.epsilon, config.weight_decay}) {}

std::optional<double> Update::accumulate(std::int64_t step) {
  const std::int64_t parts = config_.gradient_accumulation;
  at::Tensor total;
  for (std::int64_t part = 0; part < parts; ++part) {
    if (interrupted()) {
      return std::nullopt;
    }
    at::manual_seed(random_bits(static_cast<std::uint64_t>(config_.seed) ^ kGeneratorStream,
                                static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(part)));
    at::Tensor loss;
    {
      // The forward pass only: the backward pass follows the dtypes that it recorded.
      const AutocastGuard autocast(config_.dtype);
      loss = task_.loss(step, part);
    }
    (parts == 1 ? loss : loss / static_cast<double>(parts)).backward();
    const at::Tensor value = loss.detach();
    total = total.defined() ? total + value : value;
  }
  return total.item<double>() / static_cast<double>(parts);
}

std::optional<UpdateResult> Update::run(std::int64_t step, const std::function<double()>& learning_rate) {
  optimizer_.clear_gradients();
  const std::optional<double> loss = accumulate(step);
  if (!loss) {
    optimizer_.clear_gradients();
    return std::nullopt;
  }
  // Before the weights: what is on disk and in memory is still that of the step before.
  check_finite(*loss, "loss", step);
  const double norm = optimizer_.gradient_norm();
  check_finite(norm, "norm of the gradient", step);
  const UpdateResult result{*loss, norm, learning_rate()};
  // Clipping divides within the optimiser's own pass; nothing is divided when the norm is small enough.
  const bool clip = config_.clip_norm > 0 && norm > config_.clip_norm;
  optimizer_.step(result.learning_rate, clip ? norm / config_.clip_norm : 1.0);
  return result;
}

}  // namespace weft::training
