// SPDX-License-Identifier: Apache-2.0
// The training loop: loss, gradient, clipping, AdamW, metrics, checkpoints, and an end by steps, minutes or a signal.
// It is the same for every task and for any number of processes; train_language_model.h sets it up for text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "weft/core/error.h"
#include "weft/formats/config_json.h"
#include "weft/training/run_directory.h"
#include "weft/training/task.h"
#include "weft/training/trainer_config.h"

namespace weft::training {

/// What `weft train` reports at the end.
struct TrainResult {
  std::int64_t steps = 0;          ///< in all, before a resume too
  std::int64_t tokens = 0;         ///< shown in all
  double seconds = 0.0;            ///< of training wall time in all
  double loss = 0.0;               ///< of the last step, nats a token
  double tokens_per_second = 0.0;  ///< since this process began
  std::string dtype;               ///< float32 or bfloat16, as used
  formats::Json best;              ///< evaluation by config.best_metric: metric, value, step; empty without one
  formats::Json evaluation;  ///< of the last step, empty without held-out data: bits_per_byte, bytes, context, seconds
};

/// SIGINT or SIGTERM ended a run, whose state is saved: an Error of the kind kInterrupted that knows the run.
class StoppedRun : public Error {
 public:
  StoppedRun(const std::string& message, std::filesystem::path run)
      : Error(ErrorKind::kInterrupted, message), run_(std::move(run)) {}
  /// The directory to go on in.
  const std::filesystem::path& run() const noexcept { return run_; }

 private:
  std::filesystem::path run_;
};

/// A run that is set up and not yet running.
class Trainer {
 public:
  /// A new run of `task` in `run`, which must not exist or be empty. `config` has been checked; it is resolved here.
  /// Errors: kArgument for a best_metric that the task's evaluations will not have, before anything is trained.
  static Trainer start(const std::filesystem::path& run, const TrainerConfig& config, std::shared_ptr<Task> task);
  /// Goes on after the last checkpoint of `run`, by `config`; `task` is as it was built at the start, its weights are
  /// loaded here. A change of the run's length is reported in one line, and in its metrics. Errors: kArgument when the
  /// task's data are not those of the run, or the run is longer already; kFormat for a checkpoint that does not fit or
  /// whose files have not its digests.
  static Trainer resume(RunDirectory run, const TrainerConfig& config, std::shared_ptr<Task> task);

  Trainer(Trainer&&) noexcept;
  ~Trainer();

  /// Trains to the end and leaves a checkpoint there. Errors: StoppedRun after SIGINT or SIGTERM, once state is
  /// saved; kNumeric for a loss or gradient that is not finite; kIo. Each says which checkpoint stands.
  TrainResult run();

 private:
  class Loop;
  explicit Trainer(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace weft::training
