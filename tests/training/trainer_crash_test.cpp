// SPDX-License-Identifier: Apache-2.0
// kill -9 at random moments and a disk that is full: the run goes on from its last checkpoint and ends as if nothing
// had been.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "training/fake_task.h"
#include "weft/core/files.h"
#include "weft/training/run_state.h"
#include "weft/training/trainer.h"

extern char** environ;

namespace weft::training {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRunVariable = "WEFT_TEST_CRASH_RUN";

TrainerConfig crash_config() {
  TrainerConfig config = test::fake_config(60);
  config.checkpoint_every = 3;
  return config;
}

void start_or_resume(const fs::path& path) {
  const auto task = std::make_shared<test::FakeTask>();
  if (!fs::exists(path)) {
    Trainer::start(path, crash_config(), task).run();
    return;
  }
  RunDirectory run = RunDirectory::open(path);
  const TrainerConfig config = config_from_json(run.training(), path / "training.json");
  Trainer::resume(std::move(run), config, task).run();
}

// This program again, in a process of its own that trains in `run`; its first output says that it begins.
class CrashChild {
 public:
  explicit CrashChild(const fs::path& run) {
    ::setenv(kRunVariable, run.c_str(), 1);
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::string program = "/proc/self/exe";
    std::string disabled = "--gtest_also_run_disabled_tests";
    std::string filter = "--gtest_filter=TrainerCrash.DISABLED_Child";
    char* arguments[] = {program.data(), disabled.data(), filter.data(), nullptr};
    EXPECT_EQ(::posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments, environ), 0);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    output_ = ends[0];
  }
  ~CrashChild() { ::close(output_); }
  CrashChild(const CrashChild&) = delete;
  CrashChild& operator=(const CrashChild&) = delete;

  // Reads up to `word` or the end.
  void read_until(const std::string& word) {
    std::string seen;
    char byte = 0;
    while ((word.empty() || seen.find(word) == std::string::npos) && ::read(output_, &byte, 1) == 1) {
      seen += byte;
    }
  }
  void kill() const { ::kill(process_, SIGKILL); }
  // Whether it ended by itself and well.
  bool wait() const {
    int status = 0;
    ::waitpid(process_, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  pid_t process_ = -1;
  int output_ = -1;
};

TEST(TrainerCrash, DISABLED_Child) {
  const char* run = std::getenv(kRunVariable);
  if (run == nullptr) {
    GTEST_SKIP() << "a part of KilledAtAnyMomentItResumes";
  }
  EXPECT_EQ(::write(STDOUT_FILENO, "begin\n", 6), 6);
  start_or_resume(run);
}

TEST(TrainerCrash, KilledAtAnyMomentItResumes) {
  const test::TemporaryDirectory folder;
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  SCOPED_TRACE(concat("seed ", seed));
  for (int kill = 0; kill < 12; ++kill) {
    CrashChild child(folder / "run");
    child.read_until("begin");
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60000));
    child.kill();
    child.wait();
    ASSERT_TRUE(!fs::exists(folder / "run") || RunDirectory::open(folder / "run").latest().step >= 0);
  }
  CrashChild child(folder / "run");
  child.read_until("");
  ASSERT_TRUE(child.wait());
  start_or_resume(folder / "whole");
  EXPECT_EQ(test::logged_losses(folder / "run"), test::logged_losses(folder / "whole"));
  EXPECT_EQ(test::logged_losses(folder / "run").size(), 60U);
  EXPECT_EQ(read_file(folder / "run/model.safetensors"), read_file(folder / "whole/model.safetensors"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "run/checkpoints"), {}), 2);
}

// No file can grow beyond `bytes` while one lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : previous_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &previous_);
    const rlimit limit{bytes, previous_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &previous_);
    std::signal(SIGXFSZ, previous_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit previous_{};
  void (*previous_handler_)(int);
};

// Trains until writes of more than `bytes` fail from step 20 on; then again without the limit.
void train_through_full_disk(const fs::path& run, rlim_t bytes, TrainerConfig config, const char* file) {
  std::unique_ptr<FileSizeLimit> limit;
  const auto task = std::make_shared<test::FakeTask>();
  task->on_loss = [&](std::int64_t step) {
    if (step == 19) {
      limit = std::make_unique<FileSizeLimit>(bytes);
    }
  };
  test::expect_error(ErrorKind::kIo, {file, "the last checkpoint is", "step-18"},
                     [&] { Trainer::start(run, config, task).run(); });
  limit.reset();
  EXPECT_EQ(RunDirectory::open(run).latest().step, 18);
  start_or_resume(run);
}

TEST(TrainerCrash, AFullDiskEndsTheRunAndLosesNothing) {
  const test::TemporaryDirectory folder;
  start_or_resume(folder / "whole");
  const std::vector<double> whole = test::logged_losses(folder / "whole");
  train_through_full_disk(folder / "metrics", 1000, crash_config(), "metrics.jsonl");
  EXPECT_EQ(test::logged_losses(folder / "metrics"), whole);
  const auto moments = fs::file_size(checkpoint_path(folder / "whole", 60) / "optimizer.safetensors");
  TrainerConfig rare = crash_config();
  rare.log_every = 60;
  train_through_full_disk(folder / "moments", moments - 1, rare, "step-21");
  EXPECT_EQ(test::logged_losses(folder / "moments").size(), 1U);
  EXPECT_EQ(read_file(folder / "moments/model.safetensors"), read_file(folder / "whole/model.safetensors"));
}

}  // namespace
}  // namespace weft::training
