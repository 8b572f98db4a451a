// SPDX-License-Identifier: Apache-2.0
// The loop itself. Order within a step: update, metrics, checkpoint, evaluation; a resumed run makes up for an
// evaluation that a killed one still owed.
#include "weft/training/trainer.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "weft/attention/devices/device.h"
#include "weft/core/disk/digest.h"
#include "weft/core/error.h"
#include "weft/core/interrupt.h"
#include "weft/core/log.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/training/best_figure.h"
#include "weft/training/optimizers/parameter_groups.h"
#include "weft/training/processes/agreement.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/resumption.h"
#include "weft/training/run/evaluations.h"
#include "weft/training/run/kept_tensors.h"
#include "weft/training/run/metrics_log.h"
#include "weft/training/run/shared_terms.h"
#include "weft/training/run/training_files.h"
#include "weft/training/run_state.h"
#include "weft/training/schedule.h"
#include "weft/training/update.h"

namespace weft::training {
namespace {

using formats::Json;

// "  mean span 41.20": what a task says of its model.
std::string figures_note(const Json& figures) {
  std::string text;
  for (const auto& [name, value] : figures.items()) {
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    char figure[32];
    std::snprintf(figure, sizeof figure, "%.2f", value.get<double>());
    text += concat("  ", words, " ", figure);
  }
  return text;
}

std::string progress_note(const RunState& state, double tokens_per_second) {
  char note[64];
  char speed[32] = "";
  std::snprintf(note, sizeof note, "step %lld  loss %.3f", static_cast<long long>(state.step), state.loss);
  if (tokens_per_second > 0) {  // known once a step was logged
    std::snprintf(speed, sizeof speed, "  %.0f tokens/s", tokens_per_second);
  }
  return concat(note, speed);
}

// Before the first step: the last bits of a sum depend on the number of threads.
void use_threads(const TrainerConfig& config) {
  if (config.threads > 0) {
    at::set_num_threads(static_cast<int>(config.threads));
  }
}

// Before the optimiser holds a parameter.
void use_device(const TrainerConfig& config, Task& task) {
  task.move_to(attention::usable_device(config.device, config.tf32));
}

// Before anything is written or computed. `more` is what a resumed run must have in common besides.
void agree_on_run(const TrainerConfig& config, const Task& task, const Json& more = Json::object()) {
  if (processes().is_alone()) {
    return;
  }
  Json terms = shared_terms(training_json(config, task), task);
  terms.update(more);
  require_agreement(terms);
}

}  // namespace

class Trainer::Loop {
 public:
  Loop(RunDirectory run, const TrainerConfig& config, std::shared_ptr<Task> task, const std::optional<Checkpoint>& from,
       const std::optional<LengthChange>& change);
  TrainResult train();

 private:
  bool done() const;
  double total() const { return config_.steps > 0 ? static_cast<double>(config_.steps) : 60.0 * config_.minutes; }
  double position() const { return config_.steps > 0 ? static_cast<double>(state_.step) : state_.seconds; }
  bool time_is_up() const;
  void tell_of_time() const;
  double learning_rate() const;
  void train_on();
  void advance();
  void record(const UpdateResult& result);
  bool checkpoint_due() const;
  void save();
  void evaluate_if_due();
  void agree();
  bool gave_up() const;
  [[noreturn]] void stop();
  std::string last_loss() const;
  TrainResult result() const;

  RunDirectory run_;
  TrainerConfig config_;
  std::shared_ptr<Task> task_;
  RunState state_;
  Update update_;
  KeptTensors kept_;
  TrainingClock clock_;
  std::optional<MetricsLog> metrics_;   // in the first process only: it alone writes
  std::optional<TrainingFiles> files_;  // as metrics_
  Evaluations evaluations_;
  std::int64_t saved_step_;
  double saved_seconds_;
  std::int64_t first_tokens_;
  double first_seconds_;
  std::int64_t logged_tokens_;
  double logged_seconds_;
  double speed_ = 0.0;
  std::string figures_;  // of the model at the last entry, for the progress
};

Trainer::Loop::Loop(RunDirectory run, const TrainerConfig& config, std::shared_ptr<Task> task,
                    const std::optional<Checkpoint>& from, const std::optional<LengthChange>& change)
    : run_(std::move(run)),
      config_(config),
      task_(std::move(task)),
      state_(from ? read_state(*from, config_, *task_) : RunState{}),
      update_(*task_, config_),
      clock_(state_.seconds),
      metrics_(processes().is_first() ? std::optional<MetricsLog>(std::in_place, run_.path(), state_.step)
                                      : std::nullopt),
      files_(metrics_ ? std::optional<TrainingFiles>(training_json(config_, *task_)) : std::nullopt),
      evaluations_(run_, metrics_ ? &*metrics_ : nullptr, config_.best_metric),
      saved_step_(state_.step),
      saved_seconds_(state_.seconds),
      first_tokens_(state_.tokens),
      first_seconds_(state_.seconds),
      logged_tokens_(state_.tokens),
      logged_seconds_(state_.seconds) {
  if (from) {
    load_moments(from->path, update_.optimizer(), state_.step);
    // Only now: a refused resumption changes nothing.
    if (metrics_) {
      run_.set_training(training_json(config_, *task_));
      if (change) {
        metrics_->length(state_.step, change->record);
      }
    }
  }
  agree();
  evaluations_.learn();
}

// One process's word for all: the first one's weights, moments and place in the run.
void Trainer::Loop::agree() {
  ProcessGroup& group = processes();
  if (group.is_alone()) {
    return;
  }
  const at::NoGradGuard no_grad;
  const double first_step = group.from_first(static_cast<double>(state_.step));
  require(first_step == static_cast<double>(state_.step), "the processes are at different steps: the first at ",
          first_step, ", process ", group.rank(), " at ", state_.step, "; all must read the same run directory");
  for (const auto& [name, parameter] : task_->parameters()) {
    group.copy_from_first(parameter.detach());
  }
  for (const auto& [name, kept] : update_.optimizer().state()) {
    group.copy_from_first(kept);
  }
}

bool Trainer::Loop::gave_up() const {
  return config_.early_stopping > 0 && evaluations_.best().since_best() >= config_.early_stopping;
}

bool Trainer::Loop::done() const {
  if (gave_up()) {
    return true;
  }
  return config_.steps > 0 ? state_.step >= config_.steps : time_is_up();
}

// A step that would end behind the limit is not begun: as long as the steps so far, it is expected to take. All of it
// follows from the state, which all processes share and a checkpoint keeps.
bool Trainer::Loop::time_is_up() const {
  const double step = state_.step > 0 ? state_.seconds / static_cast<double>(state_.step) : 0.0;
  return state_.seconds + step > 60.0 * config_.minutes;
}

// Where steps are long, a run ends well before its limit, or its first step behind it.
void Trainer::Loop::tell_of_time() const {
  const double limit = 60.0 * config_.minutes;
  constexpr double kMuch = 0.05;
  if (config_.steps > 0 || gave_up() || std::abs(limit - state_.seconds) <= kMuch * limit) {
    return;
  }
  const double step = state_.seconds / static_cast<double>(std::max<std::int64_t>(state_.step, 1));
  report_progress(concat("trained ", duration_text(state_.seconds), " of ", duration_text(limit), ": ",
                         state_.step > 1 ? "one more step would take about " : "the first step took ",
                         duration_text(step), ", and would end behind the limit"));
}

double Trainer::Loop::learning_rate() const {
  if (config_.steps > 0) {
    const double steps = static_cast<double>(config_.steps);
    return training::learning_rate(
        config_, {static_cast<double>(state_.step) / steps, static_cast<double>(state_.step + 1) / steps});
  }
  const double part = std::min(1.0, processes().from_first(clock_.seconds()) / (60.0 * config_.minutes));
  return training::learning_rate(config_, {part, part});
}

void Trainer::Loop::advance() {
  const std::optional<UpdateResult> result = update_.run(state_.step, [this] { return learning_rate(); });
  if (!result) {
    stop();
  }
  for (std::int64_t part = 0; part < parts_per_step(config_); ++part) {
    state_.tokens += task_->tokens(state_.step, part);
  }
  ++state_.step;
  // By minutes, all must see the same end.
  state_.seconds = processes().from_first(clock_.seconds());
  state_.loss = result->loss;
  kept_.end_step(state_.step);
  if (state_.step % config_.log_every == 0 || done()) {
    record(*result);
  }
}

void Trainer::Loop::record(const UpdateResult& result) {
  // Since the last entry, so that a change of speed shows.
  speed_ = static_cast<double>(state_.tokens - logged_tokens_) / std::max(state_.seconds - logged_seconds_, 1e-9);
  logged_tokens_ = state_.tokens;
  logged_seconds_ = state_.seconds;
  const Json figures = task_->figures();
  figures_ = figures_note(figures);
  if (!metrics_) {
    return;
  }
  Json entry = {{"step", state_.step},
                {"loss", result.loss},
                {"learning_rate", result.learning_rate},
                {"grad_norm", result.gradient_norm},
                {"tokens", state_.tokens},
                {"tokens_per_second", speed_},
                {"seconds", state_.seconds}};
  entry.update(figures);
  metrics_->train(std::move(entry));
}

bool Trainer::Loop::checkpoint_due() const {
  if (config_.checkpoint_every > 0) {
    return state_.step % config_.checkpoint_every == 0;
  }
  return config_.checkpoint_minutes > 0 && state_.seconds - saved_seconds_ >= 60.0 * config_.checkpoint_minutes;
}

void Trainer::Loop::save() {
  kept_.release();
  if (metrics_) {
    files_->warn_of_changes();
    metrics_->sync();
    run_.save(state_.step, config_.keep_checkpoints, [this](const std::filesystem::path& directory) {
      return write_state(directory, state_, config_, *task_, update_.optimizer());
    });
  }
  report_progress(concat("checkpoint after step ", state_.step));
  saved_step_ = state_.step;
  saved_seconds_ = state_.seconds;
}

void Trainer::Loop::evaluate_if_due() {
  const bool due = done() || (config_.eval_every > 0 && state_.step > 0 && state_.step % config_.eval_every == 0);
  if (!due) {
    return;
  }
  // A resumed run that stands where it was last evaluated.
  if (evaluations_.step() == state_.step) {
    return;
  }
  ProgressBar bar("evaluating", 1.0);
  bar.keep_showing();
  task_->set_training(false);
  Json figures = task_->evaluate([&](std::int64_t part, std::int64_t whole) {
    bar.update(static_cast<double>(part) / static_cast<double>(whole));
    // The others would wait for this one's share: with them, the step that follows stops.
    if (interrupted() && processes().is_alone()) {
      stop();
    }
  });
  task_->set_training(true);
  evaluations_.add(state_.step, std::move(figures), *task_, [this] { return done(); });
}

std::string Trainer::Loop::last_loss() const {
  return state_.step == 0 ? std::string() : concat("; the loss was ", state_.loss, " in step ", state_.step);
}

void Trainer::Loop::stop() {
  if (saved_step_ != state_.step) {
    save();
  }
  throw StoppedRun(
      concat("stopped after step ", state_.step, ", which is saved in ", quote(run_.path().native(), 4096)),
      run_.path());
}

TrainResult Trainer::Loop::result() const {
  const double seconds = state_.seconds - first_seconds_;
  TrainResult result{
      state_.step,           state_.tokens, state_.seconds, state_.loss, 0.0, config_.dtype, evaluations_.best().json(),
      evaluations_.figures()};
  result.tokens_per_second = seconds > 0 ? static_cast<double>(state_.tokens - first_tokens_) / seconds : 0.0;
  return result;
}

void Trainer::Loop::train_on() {
  ProgressBar bar("training", total(), position());
  bar.keep_showing();
  while (!done()) {
    clock_.start();
    bar.follow_clock(config_.steps == 0);
    advance();
    clock_.stop();
    bar.follow_clock(false);
    bar.update(position(), progress_note(state_, speed_) + figures_);
    if (done()) {
      tell_of_time();
    }
    // The checkpoint first: an evaluation may be long, and a kill within it then costs no step.
    if (done() || checkpoint_due()) {
      save();
    }
    evaluate_if_due();
  }
  // Early stopping is known only after the evaluation.
  if (saved_step_ != state_.step) {
    save();
  }
}

TrainResult Trainer::Loop::train() {
  const InterruptGuard guard(SecondInterrupt::kWaits);
  try {
    task_->set_training(true);
    evaluate_if_due();
    train_on();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) {
      throw;
    }
    throw Error(error.kind(),
                concat(error.what(), last_loss(), "; the last checkpoint is ",
                       quote(checkpoint_path(run_.path(), saved_step_).native(), 4096)),
                error.hint());
  }
  return result();
}

Trainer::Trainer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

Trainer Trainer::start(const std::filesystem::path& run, const TrainerConfig& given, std::shared_ptr<Task> task) {
  check_config(given, "training");
  const TrainerConfig config = resolved(given);
  check_metric(config.best_metric, *task);
  use_threads(config);
  use_device(config, *task);
  agree_on_run(config, *task);
  const auto create = [&] {
    freeze(task->parameters(), config.freeze);
    const std::unique_ptr<Optimizer> fresh = make_optimizer(task->parameters(), config);
    return RunDirectory::create(run, training_json(config, *task), [&](const std::filesystem::path& checkpoint) {
      return write_state(checkpoint, {}, config, *task, *fresh);
    });
  };
  // The first process makes the run, the others find it made.
  std::optional<RunDirectory> directory;
  if (processes().is_first()) {
    directory = create();
  }
  processes().meet();
  return Trainer(std::make_unique<Loop>(directory ? *std::move(directory) : RunDirectory::open_beside(run), config,
                                        std::move(task), std::nullopt, std::nullopt));
}

Trainer Trainer::resume(RunDirectory run, const TrainerConfig& config, std::shared_ptr<Task> task) {
  use_threads(config);
  use_device(config, *task);
  std::optional<LengthChange> change;
  if (processes().is_first()) {
    const Checkpoint newest = run.latest();
    change = length_change(config_from_json(run.training(), run.path() / "training.json"), config, newest);
    if (!verify(newest)) {
      log_warning(quote(newest.path.native(), 4096),
                  " has no digests, because an earlier version of Weft wrote it: the sizes of its files are right, and "
                  "Weft cannot see whether their bytes are");
    }
    if (change) {
      log_warning(change->text);
    }
    run.restore(newest, config.keep_checkpoints);
  }
  processes().meet();  // nobody reads while the first one tidies up
  const Checkpoint checkpoint = run.latest();
  agree_on_run(config, *task,
               {{"the checkpoint of step", checkpoint.step}, {"its manifest", digest_of(checkpoint.state.dump())}});
  return Trainer(std::make_unique<Loop>(std::move(run), config, std::move(task), checkpoint, change));
}

TrainResult Trainer::run() { return loop_->train(); }

}  // namespace weft::training
