// SPDX-License-Identifier: Apache-2.0
// What was read and decided, as a table on standard error, before the first step.
#include "weft/cli/fine_tuning/train_task.h"

#include <iostream>
#include <utility>
#include <vector>

#include "weft/cli/output.h"
#include "weft/cli/training/announcement.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/fine_tuning/fine_tune.h"
#include "weft/training/processes/process_group.h"

namespace weft::cli {
namespace {

std::string split_text(const fine_tuning::ReadSummary& summary, const fine_tuning::EncodedRows& rows) {
  std::string text = concat(digits(summary.examples), " examples, ", digits(rows.tokens()), " tokens");
  if (summary.records.skipped > 0) {
    text += concat("; skipped as malformed: ", digits(summary.records.skipped),
                   ", the first: ", summary.records.first_skipped);
  }
  if (summary.cut > 0) {
    text += concat("; ", digits(summary.cut), " were cut, which leaves out ", digits(summary.left_out), " tokens");
  }
  return text;
}

std::string head_text(const fine_tuning::Prepared& prepared) {
  constexpr std::size_t kMostShown = 8;
  std::string text = prepared.new_tensors.empty() ? "that of the model" : "new";
  for (std::size_t i = 0; i < std::min(prepared.head.labels.size(), kMostShown); ++i) {
    text += (i == 0 ? ", labels " : ", ") + prepared.head.labels[i];
  }
  return prepared.head.labels.size() > kMostShown
             ? concat(text, " and ", prepared.head.labels.size() - kMostShown, " more")
             : text;
}

void announce_task(const fine_tuning::Prepared& prepared, std::int64_t threads) {
  if (!training::processes().is_first()) {
    return;
  }
  const training::TrainerConfig& trainer = prepared.plan.trainer;
  const fine_tuning::Objective& objective = prepared.task->objective();
  Rows rows = {{"task", prepared.plan.task.task},
               {"model", concat(objective.setup().config.model_type, ", ", parameters_text(*prepared.task))},
               {"head", head_text(prepared)}};
  if (!prepared.new_tensors.empty()) {
    rows.emplace_back("random", joined(prepared.new_tensors, ", "));
  }
  add_machine_rows(trainer, threads, rows);
  const std::int64_t parts = parts_per_step(trainer);
  const std::string batch = prepared.plan.task.batch_tokens > 0
                                ? concat(digits(prepared.plan.task.batch_tokens), " tokens")
                                : concat(trainer.batch_size, " examples");
  rows.emplace_back("batch", concat(parts > 1 ? concat(parts, " of ") : "", batch, " a step, ",
                                    digits(prepared.epoch_steps), " steps an epoch"));
  rows.emplace_back("length", length_text(trainer));
  rows.emplace_back("training data", split_text(prepared.training, objective.rows(fine_tuning::Split::kTraining)));
  if (prepared.held_out.examples > 0) {
    rows.emplace_back("held-out data", split_text(prepared.held_out, objective.rows(fine_tuning::Split::kHeldOut)));
  }
  std::cerr << name_table(rows) << std::flush;
}

}  // namespace

training::TrainResult train_task(const std::string& out, const formats::Json& fields, std::int64_t threads) {
  const fine_tuning::Plan plan = fine_tuning::make_plan(fields, "weft train");
  if (training::processes().is_first()) {
    training::RunDirectory::check_free(out);
  }
  const fine_tuning::Prepared prepared = fine_tuning::prepare(plan);
  announce_task(prepared, threads);
  return fine_tuning::fine_tune(out, prepared);
}

training::TrainResult resume_task(const std::string& out, const formats::Json& fields, std::int64_t threads) {
  const fine_tuning::Prepared prepared = fine_tuning::prepare_resumption(out, fields);
  announce_task(prepared, threads);
  return fine_tuning::resume_fine_tuning(out, prepared);
}

}  // namespace weft::cli
