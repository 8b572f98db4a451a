// SPDX-License-Identifier: Apache-2.0
// Setting up objective, model and task in the one order that works; see objective.h.
#include "weft/fine_tuning/fine_tune.h"

#include <array>
#include <optional>

#include "weft/checkpoint/encoder_directory.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/fine_tuning/scoring.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/resumption.h"
#include "weft/training/run_state.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using formats::Json;

// The data themselves are compared, so that files may have moved.
constexpr std::array<std::string_view, 4> kChangeable = {"train_data", "eval_data", "on_error", "epochs"};

Setup setup_of(const fs::path& directory, const Plan& plan) {
  tasks::TaskModelOptions options;
  options.max_length = plan.data.max_length;
  return {tasks::describe_task_model(directory, options), checkpoint::load_encoder_config(directory), plan.task,
          plan.data, plan.trainer.label_smoothing};
}

models::EncoderModel open_model(const fs::path& directory, const Plan& plan, models::Head head, Prepared& prepared) {
  checkpoint::EncoderLoadOptions load;
  load.head = head;
  load.allow_new_head = prepared.head.fresh;
  load.seed = static_cast<std::uint64_t>(plan.trainer.seed);
  load.labels = prepared.head.fresh ? prepared.head.labels : std::vector<std::string>();
  load.new_tensors = &prepared.new_tensors;
  load.encoder.attention = plan.task.attention.empty() ? "" : plan.task.attention.front();
  models::EncoderModel model = checkpoint::load_encoder(directory, load);
  if (!prepared.head.labels.empty()) {
    model->mutable_config().id2label = prepared.head.labels;
  }
  if (!prepared.head.problem_type.empty()) {
    model->mutable_config().problem_type = prepared.head.problem_type;
  }
  return model;
}

Prepared prepare_from(const fs::path& directory, const Plan& plan) {
  Prepared prepared;
  prepared.plan = plan;
  const std::shared_ptr<Objective> objective = make_objective(setup_of(directory, plan));
  prepared.training = objective->read(Split::kTraining, plan.task.train_data);
  prepared.head = objective->settle();
  const models::EncoderModel model = open_model(directory, plan, objective->head(), prepared);
  if (!plan.task.eval_data.empty() || plan.data.folds > 0) {
    prepared.held_out =
        objective->read(Split::kHeldOut, plan.data.folds > 0 ? plan.task.train_data : plan.task.eval_data);
    const bool folds = plan.data.folds > 0;
    if (objective->rows(Split::kHeldOut).size() == 0) {
      fail(ErrorKind::kFormat, folds ? concat("fold ", plan.data.fold, " of ", plan.data.folds, " of ") : "eval_data: ",
           quoted_list(folds ? plan.task.train_data : plan.task.eval_data, 3), " has no example");
    }
  }
  prepared.plan.trainer.processes = plan.trainer.processes == 0 ? training::processes().size() : plan.trainer.processes;
  // Settled before the task keeps it: the batches of a step depend on the number of processes.
  prepared.plan.trainer = training::settled(prepared.plan.trainer);
  prepared.task = std::make_shared<EncoderTask>(objective, model, prepared.plan);
  prepared.epoch_steps = prepared.task->steps_of(1);
  if (plan.task.epochs > 0) {
    const std::int64_t steps = prepared.task->steps_of(plan.task.epochs);
    require(plan.trainer.steps == 0 || plan.trainer.steps == steps, "epochs ", plan.task.epochs, " are ", steps,
            " steps here, but steps says ", plan.trainer.steps, "; give one of them");
    prepared.plan.trainer.steps = steps;
  }
  check_config(prepared.plan.trainer, "training");
  return prepared;
}

// A run's own training.json says both how many epochs it has and how many steps these are. What is given anew decides.
void choose_length(Plan& plan, const Json& given) {
  if (given.contains("steps") && !given.contains("epochs")) {
    plan.task.epochs = 0;
  } else if (plan.task.epochs > 0 && !given.contains("steps")) {
    plan.trainer.steps = 0;
    plan.trainer.minutes = given.contains("epochs") && !given.contains("minutes") ? 0 : plan.trainer.minutes;
  }
}

}  // namespace

Prepared prepare(const Plan& plan) { return prepare_from(plan.task.model, plan); }

training::TrainResult fine_tune(const fs::path& run, const Prepared& prepared) {
  return training::Trainer::start(run, prepared.plan.trainer, prepared.task).run();
}

Prepared prepare_resumption(const fs::path& run, const Json& given) {
  const training::RunDirectory directory = training::RunDirectory::open_beside(run);
  const fs::path where = directory.path() / "training.json";
  const Json stands = directory.training();
  Json rest = given;
  Plan plan;
  plan.trainer = training::resumed_trainer(training::config_from_json(stands, where), rest, where);
  plan.task = training::resumed_settings<FineTuningConfig>(stands, rest, kChangeable, where);
  plan.data = training::resumed_settings<DataSettings>(stands, rest, kChangeable, where);
  require(rest.empty(), "no field of this task is called '", rest.empty() ? "" : rest.begin().key(), "'");
  choose_length(plan, given);
  return prepare_from(training::checkpoint_to_resume(directory).path, plan);
}

training::TrainResult resume_fine_tuning(const fs::path& path, const Prepared& prepared) {
  return training::Trainer::resume(training::open_to_resume(path), prepared.plan.trainer, prepared.task).run();
}

Measured measure(const Measurement& measurement, const Objective::WriteLine& write_prediction) {
  Plan plan;
  plan.task.task = measurement.task;
  plan.data = measurement.settings;
  check_folds(plan.data, "weft eval");
  const std::unique_ptr<Objective> objective = make_objective(setup_of(measurement.directory, plan));
  tasks::TaskModelOptions open;
  open.head = objective->head();
  tasks::TaskModel task = tasks::open_task_model(measurement.directory, open);
  objective->settle();
  Measured measured;
  measured.read = objective->read(Split::kHeldOut, measurement.data);
  measured.rows = objective->rows(Split::kHeldOut).size();
  if (measured.rows == 0) {
    fail(ErrorKind::kFormat, "data: ", quoted_list(measurement.data, 3), " has no example");
  }
  ScoringOptions scoring;
  scoring.padding = {task.model->config().pad_token_id, task.type_ids};
  scoring.tokens = measurement.batch_tokens;
  scoring.dtype = training::settled_dtype(measurement.dtype);
  scoring.progress = measurement.progress;
  const std::vector<double> kept = score_examples(*objective, task.model, scoring);
  measured.figures = objective->figures(kept);
  measured.details = objective->details(kept);
  if (write_prediction) {
    objective->predictions(kept, write_prediction);
  }
  return measured;
}

}  // namespace weft::fine_tuning
