// SPDX-License-Identifier: Apache-2.0
// Setting up objective, model and task in the one order that works; see objective.h.
#include "weft/fine_tuning/fine_tune.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "weft/checkpoint/encoder_directory.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/fine_tuning/run_length.h"
#include "weft/fine_tuning/scoring.h"
#include "weft/tasks/embedding/sentence_limits.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/resumption.h"
#include "weft/training/run/run_of_model.h"
#include "weft/training/run_state.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using formats::Json;

// The data themselves are compared, so that files may have moved.
constexpr std::array<std::string_view, 4> kChangeable = {"train_data", "eval_data", "on_error", "epochs"};

Setup setup_of(const checkpoint::OpenedModel& directory, const RunSettings& settings) {
  tasks::TaskModelOptions options;
  options.max_length = settings.data.max_length;
  tasks::TaskModel model = tasks::describe_task_model(directory, options);
  const auto sentence = is_retrieval_task(settings.task.task) ? checkpoint::read_sentence_directory(directory.root())
                                                              : std::optional<checkpoint::SentenceDirectory>();
  if (sentence) {
    tasks::take_sentence_limits(model, *sentence, settings.data.max_length);
  }
  Setup setup{directory.root(),
              std::move(model),
              checkpoint::load_encoder_config(directory),
              settings.task,
              settings.data,
              settings.retrieval,
              settings.trainer.label_smoothing};
  if (settings.task.task == "rerank" && checkpoint::is_cross_encoder(directory)) {
    setup.cross = checkpoint::read_cross_encoder(directory);
  }
  return setup;
}

// The objective knows the head that it needs, and config.json may leave open which one the directory has.
std::shared_ptr<Objective> objective_for(const checkpoint::OpenedModel& directory, const RunSettings& settings,
                                         bool keeps_origins) {
  const auto make = [&] {
    Setup setup = setup_of(directory, settings);
    setup.keeps_origins = keeps_origins;
    return make_objective(std::move(setup));
  };
  std::shared_ptr<Objective> objective = make();
  return directory.prefer(objective->head()) ? make() : objective;
}

// Tokens of the longest row of a batch; draws in other tokens may make any row as long as the model allows.
std::int64_t longest_row(const Objective& objective, const training::TrainerConfig& trainer) {
  if (trainer.bpe_dropout > 0 || trainer.unigram_alpha > 0) {
    return objective.setup().model.maximum;
  }
  std::int64_t longest = 0;
  for (std::int64_t example = 0; example < objective.examples(Split::kTraining); ++example) {
    const Objective::RowRange range = objective.row_range(Split::kTraining, example);
    longest = std::max(longest, objective.length(Split::kTraining, example) / (range.end - range.begin));
  }
  return longest;
}

models::EncoderModel load_with_head(const checkpoint::OpenedModel& directory, const RunSettings& settings,
                                    models::Head head, Prepared& prepared) {
  directory.need_floating("training");
  checkpoint::EncoderLoadOptions load;
  load.head = head;
  load.allow_new_head = prepared.head.fresh;
  load.seed = static_cast<std::uint64_t>(settings.trainer.seed);
  load.labels = prepared.head.fresh ? prepared.head.labels : std::vector<std::string>();
  load.new_tensors = &prepared.new_tensors;
  load.encoder.attention = settings.task.attention.empty() ? "" : settings.task.attention.front();
  models::EncoderModel model = checkpoint::load_encoder(directory, load);
  if (!prepared.head.labels.empty()) {
    model->mutable_config().id2label = prepared.head.labels;
  }
  if (!prepared.head.problem_type.empty()) {
    model->mutable_config().problem_type = prepared.head.problem_type;
  }
  return model;
}

Prepared prepare_from(const fs::path& directory, const RunSettings& settings) {
  Prepared prepared;
  prepared.settings = settings;
  const checkpoint::OpenedModel opened = checkpoint::open_model(directory);
  const std::shared_ptr<Objective> objective = objective_for(opened, settings, false);
  std::unique_ptr<HeadTeacher> teacher =
      distills(settings.distillation) ? std::make_unique<HeadTeacher>(settings.distillation, *objective) : nullptr;
  prepared.training = objective->read(Split::kTraining, settings.task.train_data);
  prepared.head = objective->choose_head();
  const models::EncoderModel model = load_with_head(opened, settings, objective->head(), prepared);
  if (teacher) {
    teacher->open(prepared.head, model->config(), longest_row(*objective, settings.trainer));
  }
  if (!settings.task.eval_data.empty() || settings.data.folds > 0) {
    prepared.held_out =
        objective->read(Split::kHeldOut, settings.data.folds > 0 ? settings.task.train_data : settings.task.eval_data);
    const bool folds = settings.data.folds > 0;
    if (objective->rows(Split::kHeldOut).size() == 0) {
      fail(ErrorKind::kFormat,
           folds ? concat("fold ", settings.data.fold, " of ", settings.data.folds, " of ") : "eval_data: ",
           quoted_list(folds ? settings.task.train_data : settings.task.eval_data, 3), " has no example");
    }
  }
  prepared.settings.trainer.processes =
      settings.trainer.processes == 0 ? training::processes().size() : settings.trainer.processes;
  // Resolved before the task keeps it: the batches of a step depend on the number of processes.
  prepared.settings.trainer = training::resolved(prepared.settings.trainer);
  prepared.task = std::make_shared<EncoderTask>(objective, model, prepared.settings);
  prepared.task->learn_from(std::move(teacher));
  prepared.epoch_steps = prepared.task->steps_of(1);
  if (settings.task.epochs > 0) {
    set_steps(prepared.settings.trainer, settings.task.epochs, prepared.task->steps_of(settings.task.epochs));
  }
  check_config(prepared.settings.trainer, "training");
  return prepared;
}

}  // namespace

Prepared prepare(const RunSettings& settings) { return prepare_from(settings.task.model, settings); }

training::TrainResult fine_tune(const fs::path& run, const Prepared& prepared) {
  return training::Trainer::start(run, prepared.settings.trainer, prepared.task).run();
}

Prepared prepare_resumption(const fs::path& run, const Json& given) {
  const training::RunDirectory directory = training::RunDirectory::open_beside(run);
  const fs::path where = directory.path() / "training.json";
  const Json stands = directory.training();
  Json rest = given;
  RunSettings settings;
  settings.trainer = training::resumed_trainer(training::config_from_json(stands, where), rest, where);
  settings.task = training::resumed_settings<FineTuningConfig>(stands, rest, kChangeable, where);
  settings.data = training::resumed_settings<DataSettings>(stands, rest, kChangeable, where);
  settings.retrieval = training::resumed_settings<RetrievalConfig>(stands, rest, kChangeable, where);
  settings.distillation = training::resumed_distillation(stands, rest, where);
  training::require_all_taken(rest);
  choose_length(settings.task.epochs, settings.trainer, given);
  return prepare_from(training::checkpoint_to_resume(directory).path, settings);
}

training::TrainResult resume_fine_tuning(const fs::path& path, const Prepared& prepared) {
  return training::Trainer::resume(training::open_to_resume(path), prepared.settings.trainer, prepared.task).run();
}

Measured measure(const Measurement& measurement, const Objective::WriteLine& write_prediction) {
  RunSettings settings;
  settings.task.task = measurement.task;
  settings.data = measurement.settings;
  settings.retrieval = measurement.retrieval;
  check_folds(settings.data, "weft eval");
  const checkpoint::OpenedModel opened =
      measurement.opened ? *measurement.opened : checkpoint::open_model(measurement.directory);
  const std::shared_ptr<Objective> objective = objective_for(opened, settings, static_cast<bool>(write_prediction));
  tasks::TaskModelOptions open;
  if (objective->head() != models::Head::kNone) {  // else any head will do
    open.head = objective->head();
  }
  tasks::TaskModel task = tasks::open_task_model(opened, open);
  objective->choose_head();
  Measured measured;
  measured.read = objective->read(Split::kHeldOut, measurement.data);
  measured.rows = objective->rows(Split::kHeldOut).size();
  if (measured.rows == 0) {
    fail(ErrorKind::kFormat, "data: ", quoted_list(measurement.data, 3), " has no example");
  }
  ScoringOptions scoring;
  scoring.padding = {task.model->config().pad_token_id, task.type_ids};
  scoring.tokens = measurement.batch_tokens;
  measured.dtype = training::dtype_of_model(measurement.dtype, measurement.directory);
  scoring.dtype = measured.dtype;
  scoring.progress = measurement.progress;
  const std::vector<double> kept = score_examples(*objective, task.model, scoring);
  measured.figures = objective->figures(kept);
  Findings found = objective->findings(kept);
  measured.details = std::move(found.details);
  measured.doubt = std::move(found.doubt);
  measured.note = std::move(found.note);
  if (write_prediction) {
    objective->write_predictions(kept, write_prediction);
  }
  return measured;
}

}  // namespace weft::fine_tuning
