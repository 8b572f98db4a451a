// SPDX-License-Identifier: Apache-2.0
// A run directory on disk, which is a model directory too:
//   config.json, model.safetensors, tokeniser files   the model of the last checkpoint
//   training.json, metrics.jsonl, events.out.*         how it was trained and what came of it
//   checkpoints/step-N/                                the last ones whole: model, moments, manifest
//   best/                                              the model of the best evaluation, where one is asked for
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "weft/core/descriptor.h"
#include "weft/formats/config_json.h"
#include "weft/training/run/checkpoint_manifest.h"

namespace weft::training {

/// The file of a checkpoint that holds the optimiser's moments.
inline constexpr const char* kMomentsFile = "optimizer.safetensors";

/// The file of a checkpoint that holds what the segments before left (language_model_task.h).
inline constexpr const char* kMemoryFile = "memory.safetensors";

/// Holds the lock of a run while it lives, unless it was opened beside its holder.
class RunDirectory {
 public:
  /// Writes the files of a checkpoint into a directory and returns its state.
  using Fill = std::function<formats::Json(const std::filesystem::path&)>;

  /// Throws kArgument when a new run cannot begin at `path`: it exists and is not an empty folder, or lies below a
  /// file; kIo when the folder that would hold it cannot be written.
  static void check_free(const std::filesystem::path& path);
  /// A new run whose checkpoint of step 0 comes from `fill`. It is built beside `path` and moved there: `path` is a
  /// whole run or nothing. Errors: as check_free; kIo.
  static RunDirectory create(const std::filesystem::path& path, const formats::Json& training, const Fill& fill);
  /// Errors: kArgument when `path` is no run directory or another process trains in it.
  static RunDirectory open(const std::filesystem::path& path);

  /// For reading beside the process that holds the lock: nothing below may be called that writes.
  static RunDirectory open_beside(const std::filesystem::path& path);

  const std::filesystem::path& path() const noexcept { return path_; }
  /// training.json.
  formats::Json training() const;
  /// Replaces training.json atomically.
  void set_training(const formats::Json& training);

  /// The newest checkpoint that is whole. Errors: kFormat when there is none.
  Checkpoint latest() const;
  /// Writes checkpoints/step-N whole or not at all, makes it the model of the run, and removes all but the newest
  /// `keep`.
  void save(std::int64_t step, std::int64_t keep, const Fill& fill);
  /// Replaces best/, a model directory with what the best evaluation said in best.json.
  void save_best(const formats::Json& figure, const std::function<void(const std::filesystem::path&)>& save_model);
  /// Makes the model of `checkpoint` that of the run, and removes what a killed process left half-made, later
  /// checkpoints, and all but the newest `keep`.
  void restore(const Checkpoint& checkpoint, std::int64_t keep);

 private:
  void prune(std::int64_t keep);
  RunDirectory(std::filesystem::path path, Descriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::filesystem::path path_;
  Descriptor lock_;  // flock: one trainer a run, released by the system however the process ends
};

/// "checkpoints/step-N" of a run.
std::filesystem::path checkpoint_path(const std::filesystem::path& run, std::int64_t step);

}  // namespace weft::training
