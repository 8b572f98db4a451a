// SPDX-License-Identifier: Apache-2.0
// Warm-up and decay.
#include "weft/training/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft::training {
namespace {

// What follows the warm-up, as a factor of the peak rate.
double decay(const TrainerConfig& config, const RunProgress& progress, double warmup) {
  const double floor = config.min_learning_rate_ratio;
  if (config.schedule == "constant" || warmup >= 1.0) {
    return 1.0;
  }
  if (config.schedule == "inverse_sqrt") {
    return std::max(floor, std::sqrt(warmup / progress.end));
  }
  const double done = std::clamp((progress.begin - warmup) / (1.0 - warmup), 0.0, 1.0);
  const double left = config.schedule == "linear" ? 1.0 - done : 0.5 * (1.0 + std::cos(std::numbers::pi * done));
  return floor + (1.0 - floor) * left;
}

}  // namespace

double warmup_part(const TrainerConfig& config) {
  if (config.warmup_steps > 0) {
    return static_cast<double>(config.warmup_steps) / static_cast<double>(config.steps);
  }
  return config.warmup_ratio;
}

double learning_rate(const TrainerConfig& config, const RunProgress& progress) {
  const double warmup = warmup_part(config);
  const double scale = progress.end < warmup ? progress.end / warmup : decay(config, progress, warmup);
  return config.learning_rate * scale;
}

}  // namespace weft::training
