// SPDX-License-Identifier: Apache-2.0
// The files that a run learns from, as they were when it began. A run goes on with what it has read of them; somebody
// who writes into one in the meantime makes it a run that no one can resume or repeat.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/formats/config_json.h"

namespace weft::training {

/// The paths of a setting that names files, which is a list, or one name; an empty name is none.
std::vector<std::string> paths_in(const formats::Json& setting);

/// Sizes and times of files; nothing is read.
class TrainingFiles {
 public:
  /// The files and folders to train on that `training` names, a run's training.json. One that cannot be looked at is
  /// passed over.
  explicit TrainingFiles(const formats::Json& training);
  /// Warns of those that were written or are gone since: of the first by name, of the others by their number. Each is
  /// warned of once.
  void warn_of_changes();

 private:
  struct Seen {
    std::filesystem::path path;
    std::uint64_t bytes;
    std::int64_t modified;
    bool warned = false;
  };
  static Seen look_at(const std::filesystem::path& path);

  std::vector<Seen> files_;
};

}  // namespace weft::training
