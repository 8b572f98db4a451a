// SPDX-License-Identifier: Apache-2.0
// Whole runs of a small task: resumed ones equal undisturbed ones to the last bit, and every way to end is orderly.
#include "weft/training/trainer.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <limits>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "data/text_files.h"
#include "support/cleared_interrupt.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "training/fake_task.h"
#include "weft/core/files.h"
#include "weft/training/run_state.h"
#include "weft/training/schedule.h"

namespace weft::training {
namespace {

namespace fs = std::filesystem;

TrainResult start_fake(const fs::path& run, const TrainerConfig& config, const std::shared_ptr<test::FakeTask>& task) {
  const test::ClearedInterrupt cleared;
  return Trainer::start(run, config, task).run();
}

TrainResult resume_fake(const fs::path& path, const std::shared_ptr<test::FakeTask>& task) {
  const test::ClearedInterrupt cleared;
  RunDirectory run = RunDirectory::open(path);
  const TrainerConfig config = config_from_json(run.training(), "training.json");
  return Trainer::resume(std::move(run), config, task).run();
}

std::shared_ptr<test::FakeTask> fake_task() { return std::make_shared<test::FakeTask>(); }

// A task that sends this process a signal at the start of step `at`.
std::shared_ptr<test::FakeTask> interrupted_at(std::int64_t at, int signal = SIGINT) {
  auto task = fake_task();
  task->on_loss = [=](std::int64_t step) {
    if (step == at) {
      std::raise(signal);
    }
  };
  return task;
}

TEST(Trainer, TrainsAndRecordsEveryStep) {
  const test::TemporaryDirectory folder;
  TrainerConfig config = test::fake_config(200);
  config.eval_every = 80;
  const auto task = fake_task();
  const TrainResult result = start_fake(folder / "run", config, task);
  const std::vector<double> losses = test::logged_losses(folder / "run");
  ASSERT_EQ(losses.size(), 200U);
  EXPECT_LT(losses.back(), 0.5 * losses.front());
  EXPECT_EQ(result.steps, 200);
  EXPECT_EQ(result.tokens, 200 * 8);
  EXPECT_EQ(result.loss, losses.back());
  EXPECT_GT(result.tokens_per_second, 0.0);
  EXPECT_EQ(result.dtype, "float32");
  EXPECT_EQ(task->evaluations, 3);
  EXPECT_EQ(result.evaluation.at("training"), false);
  EXPECT_EQ(read_file(folder / "run/model.safetensors"),
            read_file(folder / "run/checkpoints/step-200/model.safetensors"));
}

TEST(Trainer, AResumedRunEqualsOneNeverStopped) {
  const test::TemporaryDirectory folder;
  TrainerConfig config = test::fake_config(40);
  config.threads = 2;
  config.gradient_accumulation = 2;
  config.eval_every = 10;
  start_fake(folder / "whole", config, fake_task());
  test::expect_error(ErrorKind::kInterrupted, {"after step 17", "saved"},
                     [&] { start_fake(folder / "run", config, interrupted_at(17)); });
  test::expect_error(ErrorKind::kInterrupted, {"after step 30"},
                     [&] { resume_fake(folder / "run", interrupted_at(30, SIGTERM)); });
  resume_fake(folder / "run", fake_task());
  EXPECT_EQ(test::logged_losses(folder / "run"), test::logged_losses(folder / "whole"));
  EXPECT_EQ(read_file(folder / "run/model.safetensors"), read_file(folder / "whole/model.safetensors"));
}

TEST(Trainer, AFinishedRunResumesToItsResult) {
  const test::TemporaryDirectory folder;
  const TrainResult first = start_fake(folder / "run", test::fake_config(5), fake_task());
  const auto task = fake_task();
  const TrainResult again = resume_fake(folder / "run", task);
  EXPECT_EQ(again.steps, 5);
  EXPECT_EQ(again.loss, first.loss);
  EXPECT_EQ(again.evaluation, first.evaluation);
  EXPECT_EQ(task->evaluations, 0);
  EXPECT_EQ(test::logged_losses(folder / "run").size(), 5U);
}

TEST(Trainer, ByMinutesStopsInTimeAndResumesWithTheTimeLeft) {
  const test::TemporaryDirectory folder;
  TrainerConfig config = test::fake_config(0);
  config.minutes = 0.025;  // 1.5 s
  config.schedule = "linear";
  config.warmup_ratio = 0.0;
  test::expect_error(ErrorKind::kInterrupted, {"saved"},
                     [&] { start_fake(folder / "run", config, interrupted_at(0)); });
  const double before = RunDirectory::open(folder / "run").latest().state.at("seconds").get<double>();
  EXPECT_LT(before, 1.5);
  const TrainResult result = resume_fake(folder / "run", fake_task());
  // A step more, as long as the steps so far, would have ended behind the limit.
  EXPECT_GT(result.seconds + result.seconds / static_cast<double>(result.steps), 1.5);
  EXPECT_LT(result.seconds, 6.0);  // one step, on a machine that may be busy
  const auto lines = formats::read_json_lines(folder / "run/metrics.jsonl");
  for (const formats::Json& line : lines) {
    if (line.contains("loss")) {
      // The rate belongs to the time after the backward pass, `seconds` to the end of the step.
      EXPECT_GE(line.at("learning_rate").get<double>(), 0.01 * (1 - line.at("seconds").get<double>() / 1.5) - 1e-9);
    }
  }
  EXPECT_EQ(test::logged_losses(folder / "run").size(), static_cast<std::size_t>(result.steps));
}

TEST(Trainer, ByMinutesNoStepIsBegunThatWouldEndLater) {
  const test::TemporaryDirectory folder;
  TrainerConfig config = test::fake_config(0);
  config.minutes = 0.1 / 60;
  const auto task = fake_task();
  task->on_loss = [](std::int64_t) { std::this_thread::sleep_for(std::chrono::milliseconds(40)); };
  const TrainResult result = start_fake(folder / "run", config, task);
  for (const formats::Json& line : formats::read_json_lines(folder / "run/metrics.jsonl")) {
    if (line.contains("loss")) {
      const auto step = line.at("step").get<double>();
      const double after_another = line.at("seconds").get<double>() * (step + 1) / step;
      EXPECT_EQ(after_another > 0.1, step == static_cast<double>(result.steps)) << line;
    }
  }
  // A run that has ended so stays as it is.
  const TrainResult again = resume_fake(folder / "run", fake_task());
  EXPECT_EQ(again.steps, result.steps);
}

TEST(Trainer, SavesAsOftenAsAsked) {
  const test::TemporaryDirectory folder;
  TrainerConfig config = test::fake_config(25);
  config.checkpoint_every = 10;
  config.keep_checkpoints = 3;
  config.log_every = 4;
  start_fake(folder / "run", config, fake_task());
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder / "run/checkpoints")) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"step-10", "step-20", "step-25"}));
  const auto lines = formats::read_json_lines(folder / "run/metrics.jsonl");
  EXPECT_EQ(lines.size(), 8U);  // steps 4 to 24, the last, and its evaluation
}

TEST(Trainer, ALossThatIsNotFiniteEndsTheRunAndTheCheckpointStands) {
  const test::TemporaryDirectory folder;
  TrainerConfig config = test::fake_config(50);
  config.checkpoint_every = 10;
  const auto task = fake_task();
  task->on_loss = [&task = *task](std::int64_t step) {
    task.loss_factor = step == 24 ? std::numeric_limits<double>::quiet_NaN() : 1.0;
  };
  test::expect_error(ErrorKind::kNumeric, {"loss", "nan", "step 25", "in step 24", "the last checkpoint is", "step-20"},
                     [&] { start_fake(folder / "run", config, task); });
  EXPECT_EQ(RunDirectory::open(folder / "run").latest().step, 20);
  start_fake(folder / "whole", config, fake_task());
  resume_fake(folder / "run", fake_task());
  EXPECT_EQ(test::logged_losses(folder / "run"), test::logged_losses(folder / "whole"));
}

TEST(Trainer, AnInterruptedEvaluationIsMadeUpFor) {
  const test::TemporaryDirectory folder;
  TrainerConfig config = test::fake_config(20);
  config.eval_every = 10;
  const auto task = fake_task();
  task->on_loss = [](std::int64_t step) {
    if (step == 9) {
      std::raise(SIGTERM);
    }
  };
  test::expect_error(ErrorKind::kInterrupted, {"step 10"}, [&] { start_fake(folder / "run", config, task); });
  const auto rest = fake_task();
  resume_fake(folder / "run", rest);
  EXPECT_EQ(rest->evaluations, 2);
  EXPECT_EQ(formats::read_json_lines(folder / "run/metrics.jsonl").size(), 22U);
}

TEST(Trainer, RefusesOtherDataAndOtherWeights) {
  const test::TemporaryDirectory folder;
  test::expect_error(ErrorKind::kInterrupted, {},
                     [&] { start_fake(folder / "run", test::fake_config(50), interrupted_at(3)); });
  const auto other = fake_task();
  other->data = 1001;
  test::expect_error(ErrorKind::kArgument, {"train_text", "tokens", "1000", "1001"},
                     [&] { resume_fake(folder / "run", other); });
  test::write_text(checkpoint_path(folder / "run", 3) / "optimizer.safetensors", "");
  resume_fake(folder / "run", fake_task());  // from step 0, which is whole
  EXPECT_EQ(test::logged_losses(folder / "run").size(), 50U);
}

// Checkpoints of steps 10 and 20.
TrainerConfig two_checkpoints() {
  TrainerConfig config = test::fake_config(20);
  config.checkpoint_every = 10;
  return config;
}

// Takes the digests out of a checkpoint, which then is one of an earlier version of Weft.
void remove_digests(const fs::path& checkpoint) {
  formats::Json state = formats::read_json(checkpoint / kManifestFile);
  state.erase("digests");
  write_file_atomically(checkpoint / kManifestFile, formats::print_json(state));
}

TEST(Trainer, MomentsOfAnotherStepAreRefused) {
  const test::TemporaryDirectory folder;
  start_fake(folder / "run", two_checkpoints(), fake_task());
  const fs::path last = checkpoint_path(folder / "run", 20) / "optimizer.safetensors";
  fs::copy_file(checkpoint_path(folder / "run", 10) / "optimizer.safetensors", last,
                fs::copy_options::overwrite_existing);
  test::expect_error(ErrorKind::kFormat, {"step-20/optimizer.safetensors", "digest"},
                     [&] { resume_fake(folder / "run", fake_task()); });
  EXPECT_TRUE(fs::exists(last)) << "a refused resumption changes nothing";
  fs::remove_all(checkpoint_path(folder / "run", 20));
  EXPECT_EQ(resume_fake(folder / "run", fake_task()).steps, 20);
}

TEST(Trainer, AFlippedBitOfTheWeightsIsRefused) {
  const test::TemporaryDirectory folder;
  start_fake(folder / "run", two_checkpoints(), fake_task());
  const fs::path weights = checkpoint_path(folder / "run", 20) / "model.safetensors";
  std::string bytes = read_file(weights);
  bytes[bytes.size() - 2] = static_cast<char>(bytes[bytes.size() - 2] ^ 1);
  write_file_atomically(weights, bytes);
  test::expect_error(ErrorKind::kFormat, {"step-20/model.safetensors", "digest"},
                     [&] { resume_fake(folder / "run", fake_task()); });
}

TEST(Trainer, ARunOfAnEarlierVersionGoesOnAndSaysWhatItLacks) {
  const test::TemporaryDirectory folder;
  test::expect_error(ErrorKind::kInterrupted, {},
                     [&] { start_fake(folder / "run", two_checkpoints(), interrupted_at(12)); });
  start_fake(folder / "whole", two_checkpoints(), fake_task());
  remove_digests(checkpoint_path(folder / "run", 13));
  ::testing::internal::CaptureStderr();
  resume_fake(folder / "run", fake_task());
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("step-13' has no digests"), std::string::npos);
  EXPECT_EQ(test::logged_losses(folder / "run"), test::logged_losses(folder / "whole"));
}

TEST(Trainer, MomentsThatDoNotFitNameTheirFile) {
  const test::TemporaryDirectory folder;
  start_fake(folder / "run", test::fake_config(3), fake_task());
  const fs::path last = checkpoint_path(folder / "run", 3);
  remove_digests(last);
  checkpoint::NamedTensors moments = checkpoint::load_tensors(last / "optimizer.safetensors");
  const auto matrix =
      std::find_if(moments.begin(), moments.end(), [](const auto& one) { return one.second.dim() == 2; });
  matrix->second = matrix->second.t().contiguous();
  checkpoint::save_tensors(last / "optimizer.safetensors", moments);
  formats::Json state = formats::read_json(last / kManifestFile);
  state["files"]["optimizer.safetensors"] = fs::file_size(last / "optimizer.safetensors");
  write_file_atomically(last / kManifestFile, formats::print_json(state));
  test::expect_error(ErrorKind::kFormat, {"step-3/optimizer.safetensors'", matrix->first, "found"},
                     [&] { resume_fake(folder / "run", fake_task()); });
}

TEST(Trainer, AResumptionLeavesNothingBehind) {
  const test::TemporaryDirectory folder;
  start_fake(folder / "run", test::fake_config(3), fake_task());
  const auto names = [&] {
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder / "run")) {
      const std::string name = entry.path().filename().string();
      found.insert(name.starts_with("events.out") ? "" : name);
    }
    return found;
  };
  const std::set<std::string> before = names();
  resume_fake(folder / "run", fake_task());
  resume_fake(folder / "run", fake_task());
  EXPECT_EQ(names(), before);
}

TEST(Trainer, AJunkLineOfTheMetricsDoesNotBlockARun) {
  const test::TemporaryDirectory folder;
  TrainerConfig config = test::fake_config(30);
  config.eval_every = 10;
  test::expect_error(ErrorKind::kInterrupted, {}, [&] { start_fake(folder / "run", config, interrupted_at(13)); });
  const std::string log = read_file(folder / "run/metrics.jsonl");
  write_file_atomically(folder / "run/metrics.jsonl", "\x01junk\n" + log + "{\"step\": 13,\n");
  EXPECT_EQ(resume_fake(folder / "run", fake_task()).steps, 30);
}

TEST(Trainer, ASecondInterruptLosesNothing) {
  const test::TemporaryDirectory folder;
  const auto task = fake_task();
  task->on_loss = [](std::int64_t step) {
    if (step == 7) {
      std::raise(SIGINT);
      std::raise(SIGINT);
    }
  };
  ::testing::internal::CaptureStderr();
  test::expect_error(ErrorKind::kInterrupted, {"after step 8", "saved"},
                     [&] { start_fake(folder / "run", test::fake_config(50), task); });
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("one more Ctrl-C"), std::string::npos);
  EXPECT_EQ(RunDirectory::open(folder / "run").latest().step, 8);
}

TEST(Trainer, AFigureThatWillNotBeThereIsRefusedBeforeTheTraining) {
  const test::TemporaryDirectory folder;
  TrainerConfig config = test::fake_config(5);
  config.best_metric = "eror";
  const auto task = fake_task();
  task->names = {"mean_squared_error", "training"};
  const auto start = [&] { Trainer::start(folder / "run", config, task); };
  test::expect_error(ErrorKind::kArgument, {"best_metric", "'eror'", "mean_squared_error, training"}, start);
  task->names->clear();
  test::expect_error(ErrorKind::kArgument, {"best_metric", "without held-out data"}, start);
  EXPECT_FALSE(fs::exists(folder / "run"));
  EXPECT_EQ(task->evaluations, 0);
}

TrainResult resume_to(const fs::path& path, std::int64_t steps) {
  RunDirectory run = RunDirectory::open(path);
  TrainerConfig config = config_from_json(run.training(), "training.json");
  config.steps = steps;
  return Trainer::resume(std::move(run), config, fake_task()).run();
}

TEST(Trainer, AFinishedRunCanBeMadeLonger) {
  const test::TemporaryDirectory folder;
  start_fake(folder / "run", test::fake_config(20), fake_task());
  const std::vector<double> before = test::logged_losses(folder / "run");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(resume_to(folder / "run", 30).steps, 30);
  const std::string said = ::testing::internal::GetCapturedStderr();
  for (const char* word : {"30 steps", "20 steps", "step 21", "cosine"}) {
    EXPECT_NE(said.find(word), std::string::npos) << word << " in " << said;
  }
  EXPECT_EQ(formats::read_json(folder / "run/training.json").at("steps"), 30);
  const std::vector<double> losses = test::logged_losses(folder / "run");
  ASSERT_EQ(losses.size(), 30U);
  EXPECT_EQ(std::vector<double>(losses.begin(), losses.begin() + 20), before);
  std::vector<formats::Json> changes;
  for (const formats::Json& line : formats::read_json_lines(folder / "run/metrics.jsonl")) {
    if (line.contains("length")) {
      changes.push_back(line["length"]);
    }
    if (line.value("step", 0) == 21 && line.contains("learning_rate")) {
      EXPECT_EQ(line["learning_rate"].get<double>(),
                learning_rate(config_from_json(formats::read_json(folder / "run/training.json"), "training.json"),
                              {20.0 / 30.0, 21.0 / 30.0}));
    }
  }
  const formats::Json change = {{"steps", {{"from", 20}, {"to", 30}}}};
  EXPECT_EQ(changes, std::vector<formats::Json>{change});
  resume_fake(folder / "run", fake_task());  // says nothing more
  EXPECT_EQ(test::logged_losses(folder / "run").size(), 30U);
}

TEST(Trainer, ARunCannotBecomeShorterThanItIs) {
  const test::TemporaryDirectory folder;
  start_fake(folder / "run", test::fake_config(20), fake_task());
  test::expect_error(ErrorKind::kArgument, {"steps", "at least 20", "found 12"},
                     [&] { resume_to(folder / "run", 12); });
  EXPECT_EQ(formats::read_json(folder / "run/training.json").at("steps"), 20);
}

}  // namespace
}  // namespace weft::training
