// SPDX-License-Identifier: Apache-2.0
// Of several processes the first one speaks and writes.
#include "weft/runs/train/carry_out.h"

#include <exception>
#include <filesystem>
#include <utility>

#include "weft/core/files.h"
#include "weft/core/progress.h"
#include "weft/formats/json_members.h"
#include "weft/runs/train/agreement.h"
#include "weft/runs/train/seed_statistics.h"
#include "weft/training/processes/process_group.h"

namespace weft::runs {
namespace {

using formats::Json;

std::vector<Outcome> outcomes_of(const TrainOptions& options, const MakeListener& make_listener) {
  const std::vector<TrainRequest> requests = decide(options);
  agree_on_request(options, requests);
  const std::unique_ptr<TrainListener> listener = make_listener();
  std::vector<Outcome> outcomes;
  outcomes.reserve(requests.size());
  for (const TrainRequest& request : requests) {
    const auto seed = formats::value_or(request.fields, "seed", "weft train", std::int64_t{0});
    training::TrainResult result = train(request, *listener);
    outcomes.push_back({request.task, request.out, seed, std::move(result)});
  }
  if (options.seeds > 1 && training::processes().is_first()) {
    write_file_atomically(std::filesystem::path(options.out) / "seeds.json", outcomes_json(outcomes).dump(2) + "\n");
  }
  training::processes().meet();  // behind what may fail: the others wait for it
  return outcomes;
}

}  // namespace

std::vector<Outcome> carry_out(const TrainOptions& options, const MakeListener& make_listener) {
  if (!training::processes().is_first()) {
    silence_progress();
  }
  try {
    return outcomes_of(options, make_listener);
  } catch (const std::exception& error) {
    training::processes().announce_failure(error.what());
    throw;
  }
}

Json outcome_json(const Outcome& outcome) {
  const training::TrainResult& result = outcome.result;
  return {{"run", outcome.out},
          {"steps", result.steps},
          {"tokens", result.tokens},
          {"seconds", result.seconds},
          {"loss", result.loss},
          {"tokens_per_second", result.tokens_per_second},
          {"dtype", result.dtype},
          {"best", result.best.empty() ? Json(nullptr) : result.best},
          {"evaluation", result.evaluation.empty() ? Json(nullptr) : result.evaluation}};
}

Json outcomes_json(const std::vector<Outcome>& outcomes) {
  Json runs = Json::array();
  std::vector<Json> evaluations;
  evaluations.reserve(outcomes.size());
  for (const Outcome& outcome : outcomes) {
    runs.push_back(outcome_json(outcome));
    evaluations.push_back(outcome.result.evaluation);
    evaluations.back()["train_loss"] = outcome.result.loss;
  }
  return {{"runs", runs}, {"figures", seed_statistics(evaluations)}};
}

}  // namespace weft::runs
