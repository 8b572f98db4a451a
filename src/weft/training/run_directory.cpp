// SPDX-License-Identifier: Apache-2.0
// Making, locking and pruning a run directory. Whatever is written appears whole by a rename.
#include "weft/training/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "weft/core/disk/links.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/temporary_name.h"
#include "weft/formats/json_members.h"

namespace weft::training {
namespace {

namespace fs = std::filesystem;
using formats::Json;

constexpr const char* kTraining = "training.json";
constexpr const char* kCheckpoints = "checkpoints";
constexpr const char* kLock = "lock";
constexpr const char* kBest = "best";
// What a trainer writes to under its name. A run of other people may have a link there.
constexpr std::array kWritten = {kTraining, kCheckpoints, kLock, kBest, "metrics.jsonl", "evaluation.json"};

std::string named(const fs::path& path) { return quote(path.native(), 4096); }

// The path itself, links followed, without a trailing slash: what a rename needs.
fs::path canonical_path(const fs::path& path) {
  fs::path whole = fs::weakly_canonical(fs::absolute(path));
  return whole.has_filename() ? whole : whole.parent_path();
}

// One trainer a run. flock belongs to the open file, so that the system releases it however the process ends.
Descriptor lock_run(const fs::path& run) {
  Descriptor lock(run / kLock, O_RDWR | O_CREAT);
  if (::flock(lock.number(), LOCK_EX | LOCK_NB) != 0) {
    require(errno != EWOULDBLOCK, [&] { return named(run); }, " is in use: another process trains in it");
    fail_io("lock", run / kLock, errno);
  }
  return lock;
}

// Steps of all checkpoint folders, whole or not, newest first.
std::vector<std::int64_t> checkpoint_steps(const fs::path& run) {
  std::vector<std::int64_t> steps;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(run / kCheckpoints, error)) {
    if (const auto step = checkpoint_step(entry.path())) {
      steps.push_back(*step);
    }
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

// Without its state.json a checkpoint is none, so that a removal cut short leaves nothing that looks whole.
void remove_checkpoint(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path / kManifestFile, ignored);
  fs::remove_all(path, ignored);
}

// What will hold the run's folder, or the nearest folder above that is there, must take new entries.
void check_writable(const fs::path& run) {
  std::error_code error;
  fs::path above = fs::absolute(run).lexically_normal();
  while (above.has_relative_path() && !fs::exists(fs::symlink_status(above, error))) {
    above = above.parent_path();
  }
  require(
      fs::is_directory(above, error), "a run cannot begin in ", [&] { return named(run); }, ": ",
      [&] { return named(above); }, " is not a folder");
  // A run is built beside its place and moved there.
  const fs::path holder = fs::exists(run, error) ? canonical_path(run).parent_path() : above;
  if (::access(holder.c_str(), W_OK | X_OK) != 0) {
    fail_io("write in", holder, errno);
  }
}

// Makes the model files of a checkpoint those of the run.
void publish(const fs::path& checkpoint, const fs::path& run) {
  for (const fs::path& file : files_below(checkpoint)) {
    if (file != kManifestFile && file != kMomentsFile && file != kMemoryFile) {
      fs::create_directories((run / file).parent_path());
      replace_by_link(checkpoint / file, run / file);
    }
  }
  sync_directory(run);
}

}  // namespace

fs::path checkpoint_path(const fs::path& run, std::int64_t step) { return run / kCheckpoints / concat("step-", step); }

void RunDirectory::check_free(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !(fs::is_directory(status) && fs::is_empty(path, error) && !error)) {
    throw Error(ErrorKind::kArgument,
                concat(named(path), " exists and is not an empty folder: a new run cannot begin there"),
                concat("choose another folder, or go on with the run in it by ", option("resume")));
  }
  check_writable(path);
}

RunDirectory RunDirectory::create(const fs::path& given, const Json& training, const Fill& fill) {
  check_free(given);
  const fs::path path = canonical_path(given);
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  // Beside the destination, so that a run with its first checkpoint appears by one rename.
  const fs::path staging = path.parent_path() / concat(".", path.filename().string(), ".starting-", ::getpid());
  write_directory_atomically(staging, [&](const fs::path& run) {
    const fs::path checkpoint = checkpoint_path(run, 0);
    fs::create_directories(checkpoint);
    write_manifest(checkpoint, 0, fill(checkpoint));
    publish(checkpoint, run);
    write_file_atomically(run / kLock, "");
    write_file_atomically(run / kTraining, formats::print_json(training, 2) + "\n");
  });
  // A rename onto a folder succeeds only while that is empty, so that of two runs started at once one fails here.
  fs::rename(staging, path, error);
  if (error) {
    std::error_code ignored;
    fs::remove_all(staging, ignored);
    check_free(path);
    fail_io("create", path, error.value());
  }
  sync_directory(path.parent_path());
  return {path, lock_run(path)};
}

RunDirectory RunDirectory::open(const fs::path& given) {
  RunDirectory run = open_beside(given);
  for (const char* name : kWritten) {
    check_stays_within(run.path(), run.path() / name);
  }
  run.lock_ = lock_run(run.path());
  return run;
}

RunDirectory RunDirectory::open_beside(const fs::path& given) {
  if (!ModelFile(given, kTraining).exists()) {
    throw Error(ErrorKind::kArgument, concat(named(given), " is no run directory: it has no ", kTraining),
                concat("a new run begins without ", option("resume")));
  }
  return {canonical_path(given), Descriptor()};
}

Json RunDirectory::training() const { return formats::read_json_object(ModelFile(path_, kTraining)); }

void RunDirectory::set_training(const Json& training) {
  write_file_atomically(path_ / kTraining, formats::print_json(training, 2) + "\n");
}

Checkpoint RunDirectory::latest() const {
  for (const std::int64_t step : checkpoint_steps(path_)) {
    if (auto checkpoint = read_checkpoint(checkpoint_path(path_, step))) {
      return *std::move(checkpoint);
    }
    log_warning(named(checkpoint_path(path_, step)), " is incomplete and is skipped");
  }
  fail(ErrorKind::kFormat, named(path_ / kCheckpoints), " holds no complete checkpoint");
}

void RunDirectory::save(std::int64_t step, std::int64_t keep, const Fill& fill) {
  const fs::path path = checkpoint_path(path_, step);
  write_directory_atomically(path,
                             [&](const fs::path& directory) { write_manifest(directory, step, fill(directory)); });
  // The checkpoint stands before the run's own model changes, and older ones go last: a kill in between loses nothing.
  publish(path, path_);
  prune(keep);
}

void RunDirectory::save_best(const Json& figure, const std::function<void(const fs::path&)>& save_model) {
  write_directory_atomically(path_ / kBest, [&](const fs::path& directory) {
    save_model(directory);
    write_file_atomically(directory / "best.json", formats::print_json(figure, 2) + "\n");
  });
}

void RunDirectory::prune(std::int64_t keep) {
  std::int64_t kept = 0;
  for (const std::int64_t older : checkpoint_steps(path_)) {
    if (++kept > keep) {
      remove_checkpoint(checkpoint_path(path_, older));
    }
  }
}

void RunDirectory::restore(const Checkpoint& checkpoint, std::int64_t keep) {
  // The lock says that nobody else is writing here.
  remove_abandoned_temporaries(path_);
  remove_abandoned_temporaries(path_ / kCheckpoints);
  for (const fs::path& file : files_below(checkpoint.path)) {
    if (fs::is_directory((path_ / file).parent_path())) {
      remove_abandoned_temporaries((path_ / file).parent_path());
    }
  }
  for (const std::int64_t step : checkpoint_steps(path_)) {
    if (step > checkpoint.step) {
      remove_checkpoint(checkpoint_path(path_, step));
    }
  }
  publish(checkpoint.path, path_);
  prune(keep);
}

}  // namespace weft::training
