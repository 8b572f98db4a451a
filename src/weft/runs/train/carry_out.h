// SPDX-License-Identifier: Apache-2.0
// A training from what is asked for to what it came to: decided, agreed upon with the other processes, and carried out
// run by run. `weft train` and Python call this.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/runs/train/request.h"
#include "weft/runs/train/train.h"

namespace weft::runs {

/// A run that is trained.
struct Outcome {
  std::string task;  ///< TrainRequest::task
  std::string out;   ///< run directory
  std::int64_t seed = 0;
  training::TrainResult result;
};

/// Makes who listens to the runs, once all that was asked for fits together and before anything is computed.
using MakeListener = std::function<std::unique_ptr<TrainListener>()>;

/// Carries out the runs that `options` ask for, one after the other, in every process of the group
/// (training::processes()). Several runs leave what they come to in OUT/seeds.json. When it returns all processes are
/// done. A process that fails says so to the others. Errors: those of decide(), agree_on_request() and train();
/// StoppedRun after a signal.
std::vector<Outcome> carry_out(const TrainOptions& options, const MakeListener& make_listener);

/// What `weft train --json` prints of a run, and of several that differ in their seed: {"runs", "figures"}
/// (seed_statistics()).
formats::Json outcome_json(const Outcome& outcome);
formats::Json outcomes_json(const std::vector<Outcome>& outcomes);

}  // namespace weft::runs
