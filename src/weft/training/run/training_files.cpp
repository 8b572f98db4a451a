// SPDX-License-Identifier: Apache-2.0
// One stat a file and checkpoint.
#include "weft/training/run/training_files.h"

#include <sys/stat.h>

#include <array>

#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/readers/file_list.h"

namespace weft::training {
namespace {

constexpr std::array<const char*, 7> kFields = {"train_text",   "train_images", "train_audio", "train_data",
                                                "train_source", "train_target", "alignments"};

std::vector<std::filesystem::path> files_in(const formats::Json& setting) {
  const std::vector<std::string> paths = paths_in(setting);
  try {
    return paths.empty() ? std::vector<std::filesystem::path>() : readers::list_files(paths);
  } catch (const Error&) {
    return {};  // whoever reads them says what is wrong
  }
}

}  // namespace

std::vector<std::string> paths_in(const formats::Json& setting) {
  if (setting.is_array()) {
    return setting.get<std::vector<std::string>>();
  }
  const std::string path = setting.is_string() ? setting.get<std::string>() : std::string();
  return path.empty() ? std::vector<std::string>() : std::vector<std::string>{path};
}

TrainingFiles::Seen TrainingFiles::look_at(const std::filesystem::path& path) {
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    return {path, 0, -1};
  }
  return {path, static_cast<std::uint64_t>(status.st_size),
          status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec};
}

TrainingFiles::TrainingFiles(const formats::Json& training) {
  for (const char* field : kFields) {
    if (training.contains(field)) {
      for (const std::filesystem::path& path : files_in(training[field])) {
        files_.push_back(look_at(path));
      }
    }
  }
}

void TrainingFiles::warn_of_changes() {
  const Seen* first = nullptr;
  std::size_t changed = 0;
  for (Seen& file : files_) {
    const Seen now = look_at(file.path);
    if (!file.warned && (now.bytes != file.bytes || now.modified != file.modified)) {
      file.warned = true;
      first = first == nullptr ? &file : first;
      ++changed;
    }
  }
  if (first != nullptr) {
    log_warning(
        quote(first->path.native(), 4096),
        changed > 1 ? concat(" and ", changed - 1, " more files to train on were") : " was",
        " written or removed since this run began: the run can be resumed only with the data that it began with");
  }
}

}  // namespace weft::training
