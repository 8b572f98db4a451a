// SPDX-License-Identifier: Apache-2.0
// Rules between the fields of a TrainerConfig, and what `auto` means here and now.
#include "weft/training/trainer_config.h"

#include <algorithm>

#include "weft/attention/devices/device.h"
#include "weft/training/precision.h"
#include "weft/training/processes/process_group.h"

namespace weft::training {
void check_config(const TrainerConfig& config, std::string_view where) {
  check_fields(config, where);
  require((config.steps > 0) != (config.minutes > 0), where,
          ": exactly one of steps and minutes must be above 0, found steps ", config.steps, " and minutes ",
          config.minutes);
  constexpr std::int64_t kMostWindows = std::int64_t{1} << 31;
  // Each factor is at most 2^20: their product has 61 bits.
  require(config.batch_size * parts_per_step(config) <= kMostWindows, where,
          ": batch_size times gradient_accumulation times processes must be at most ", kMostWindows, ", found ",
          config.batch_size, " times ", config.gradient_accumulation, " times ",
          std::max<std::int64_t>(config.processes, 1));
  require(config.warmup_steps == 0 || config.steps > 0, where, ": warmup_steps needs steps, found minutes ",
          config.minutes, "; a run by minutes has warmup_ratio");
  require(config.warmup_steps <= config.steps, where, ": warmup_steps must be at most steps ", config.steps, ", found ",
          config.warmup_steps);
  require(config.schedule != "inverse_sqrt" || config.warmup_steps > 0 || config.warmup_ratio > 0, where,
          ": schedule inverse_sqrt needs warm-up, found warmup_steps 0 and warmup_ratio 0");
  require(config.early_stopping == 0 || (!config.best_metric.empty() && config.eval_every > 0), where,
          ": early_stopping needs best_metric and eval_every, found ", config.early_stopping, " without them");
}

std::int64_t parts_per_step(const TrainerConfig& config) {
  return config.gradient_accumulation * std::max<std::int64_t>(config.processes, 1);
}

DropoutSeed dropout_seed(const TrainerConfig& config, std::uint64_t stream, std::int64_t step, std::int64_t part) {
  const DropoutSeed of_run(static_cast<std::uint64_t>(config.seed) ^ stream,
                           static_cast<DropoutDraws>(config.dropout_draws));
  return of_run.derived(static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(part));
}

std::string resolved_dtype(const std::string& dtype) { return resolved_dtype(dtype, attention::opening_device()); }

TrainerConfig resolved(TrainerConfig config) {
  config.dtype = resolved_dtype(config.dtype, attention::parse_device(config.device));
  config.processes = config.processes == 0 ? processes().size() : config.processes;
  return config;
}

}  // namespace weft::training
