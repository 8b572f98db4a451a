// SPDX-License-Identifier: Apache-2.0
// How long a run is: in steps, or in epochs, which the data make steps.
#pragma once

#include <cstdint>

#include "weft/core/error.h"
#include "weft/formats/config_json.h"
#include "weft/training/trainer_config.h"

namespace weft::fine_tuning {

/// Of a run that goes on: its own training.json says both how many epochs it has and how many steps these are; what
/// `given` names anew decides, and the other becomes 0.
inline void choose_length(std::int64_t& epochs, training::TrainerConfig& trainer, const formats::Json& given) {
  if (given.contains("steps") && !given.contains("epochs")) {
    epochs = 0;
  } else if (epochs > 0 && !given.contains("steps")) {
    trainer.steps = 0;
    trainer.minutes = given.contains("epochs") && !given.contains("minutes") ? 0 : trainer.minutes;
  }
}

/// Gives a run of `epochs` its `steps`, which these make with its data. Errors: kArgument where it has another number
/// of steps already.
inline void set_steps(training::TrainerConfig& trainer, std::int64_t epochs, std::int64_t steps) {
  require(trainer.steps == 0 || trainer.steps == steps, "epochs ", epochs, " makes ", steps,
          " steps with these data, but steps is ", trainer.steps, "; give only one of them");
  trainer.steps = steps;
}

}  // namespace weft::fine_tuning
