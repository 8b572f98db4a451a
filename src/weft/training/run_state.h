// SPDX-License-Identifier: Apache-2.0
// A checkpoint's content: weights (the task writes those), the optimiser's moments, and state.json. Random state and
// data position are the seed and the step, since both streams are pure functions of these.
#pragma once

#include <cstdint>
#include <filesystem>

#include "weft/formats/config_json.h"
#include "weft/training/optimizers/optimizer.h"
#include "weft/training/run_directory.h"
#include "weft/training/task.h"
#include "weft/training/trainer_config.h"

namespace weft::training {

/// How far a run is.
struct RunState {
  std::int64_t step = 0;
  std::int64_t tokens = 0;
  double seconds = 0.0;  ///< of training
  double loss = 0.0;     ///< of the last step
};

/// Writes model and moments into `directory` and returns what state.json holds besides.
formats::Json write_state(const std::filesystem::path& directory, const RunState& state, const TrainerConfig& config,
                          const Task& task, const Optimizer& optimizer);

/// Loads the weights into `task` and returns where the run stands. Another number of threads is said on stderr: losses
/// then agree to rounding only. Errors: kArgument when the task's data are not those that the run was trained on, or a
/// setting that decides what a step learns is not that of the checkpoint; kFormat.
RunState read_state(const Checkpoint& checkpoint, const TrainerConfig& config, Task& task);

/// Loads the moments of a checkpoint. Errors: kFormat naming the file and the tensor; kIo.
void load_moments(const std::filesystem::path& checkpoint, Optimizer& optimizer, std::int64_t step);

/// The fields of `config`, the settings of `task` and the versions that wrote them: training.json.
formats::Json training_json(const TrainerConfig& config, const Task& task);
/// The config in a run's training.json; what a task has recorded there is passed over. Errors: kFormat, kArgument
/// naming the field.
TrainerConfig config_from_json(const formats::Json& json, const std::filesystem::path& where);

}  // namespace weft::training
