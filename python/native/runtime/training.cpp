// SPDX-License-Identifier: Apache-2.0
// Training as `weft train` does it: the same call of the library, with the same words about it on standard error.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bindings.h"
#include "python_call.h"
#include "weft/cli/training/announcement.h"
#include "weft/core/quote.h"
#include "weft/formats/json_members.h"
#include "weft/runs/train/carry_out.h"
#include "weft/training/processes/process_group.h"

namespace weft::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using formats::Json;

// A run sets the number of threads and seeds the generator of the process: they are put back for the caller.
class CallersState {
 public:
  CallersState() : threads_(at::get_num_threads()), generator_(at::detail::getDefaultCPUGenerator()) {
    const std::lock_guard lock(generator_.mutex());
    numbers_ = generator_.get_state();
  }
  ~CallersState() {
    at::set_num_threads(threads_);
    const std::lock_guard lock(generator_.mutex());
    generator_.set_state(numbers_);
  }
  CallersState(const CallersState&) = delete;
  CallersState& operator=(const CallersState&) = delete;

 private:
  int threads_;
  at::Generator generator_;
  at::Tensor numbers_;
};

runs::TrainOptions options_of(const Json& asked) {
  constexpr const char* kTrain = "train";
  runs::TrainOptions options;
  const auto take = [&](const char* name, auto& value) { value = formats::value_or(asked, name, kTrain, value); };
  take("out", options.out);
  take("config", options.config_file);
  take("tokenizer", options.tokenizer_file);
  take("task", options.task);
  take("seeds", options.seeds);
  take("resume", options.resume);
  options.given = asked.at("fields");
  require(!options.out.empty(), kTrain, ": out names no run directory");
  require(options.seeds >= 1, kTrain, ": seeds must be at least 1, found ", options.seeds);
  const std::vector<std::string>& names = runs::task_names();
  if (!options.task.empty()) {
    check_choice(kTrain, "task", {names.begin(), names.end()}, options.task);
  }
  return options;
}

Json train_runs(const runs::TrainOptions& options) {
  const CallersState state;
  const training::JoinedProcesses joined;
  try {
    const std::vector<runs::Outcome> outcomes = runs::carry_out(
        options, [] { return std::make_unique<cli::Announcer>(static_cast<std::int64_t>(at::get_num_threads())); });
    return options.seeds > 1 ? runs::outcomes_json(outcomes) : runs::outcome_json(outcomes.front());
  } catch (const training::StoppedRun& stopped) {
    throw Error(stopped.kind(), stopped.what(),
                concat("train(", quote(stopped.run().native(), 4096), ", resume=True) goes on"));
  }
}

std::string train_as_asked(const std::string& asked) {
  const runs::TrainOptions options = options_of(formats::parse_json(asked, "settings"));
  return compute([&] { return train_runs(options).dump(); });
}

}  // namespace

void bind_training(nb::module_& module) { module.def("train", train_as_asked, "settings"_a); }

}  // namespace weft::python
