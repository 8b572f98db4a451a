// SPDX-License-Identifier: Apache-2.0
// Reading tolerates what others left there; writing goes by a temporary name and a rename, and never through a link.
#include "weft/hub/cache.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/interrupt.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/core/temporary_name.h"

namespace weft::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLongestReference = 256;

// Whether the locked file is still the one that the path names: whoever held it before may have removed it.
bool is_same_file(const Descriptor& file, const fs::path& path) {
  struct stat locked{};
  struct stat named{};
  return fstat(file.number(), &locked) == 0 && stat(path.c_str(), &named) == 0 && locked.st_ino == named.st_ino &&
         locked.st_dev == named.st_dev;
}

// Asks again ten times a second, so that Ctrl-C ends the waiting.
void wait_for_lock(const Descriptor& file, const fs::path& path) {
  for (int asked = 0; flock(file.number(), LOCK_EX | LOCK_NB) != 0; ++asked) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      fail_io("lock", path, errno);
    }
    if (interrupted()) {
      fail(ErrorKind::kInterrupted, "stopped while another program downloads the same file");
    }
    if (asked == 20) {
      report_progress("another program downloads the same file; waiting for it");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

Descriptor locked_file(const fs::path& path) {
  make_folders(path.parent_path());
  for (;;) {
    Descriptor file(path, O_RDWR | O_CREAT, 0644);
    wait_for_lock(file, path);
    if (is_same_file(file, path)) {
      return file;
    }
  }
}

}  // namespace

ModelCache::ModelCache(fs::path cache, const ModelName& name)
    : cache_(std::move(cache)), name_(name.folder()), folder_(cache_ / name_) {}

fs::path ModelCache::incomplete(const std::string& etag) const {
  return folder_ / "blobs" / (etag + ".weft.incomplete");
}

fs::path ModelCache::lock(const std::string& etag) const { return cache_ / ".locks" / name_ / (etag + ".lock"); }

std::optional<std::string> ModelCache::commit_of(const std::string& revision) const {
  if (is_hex(revision, 40)) {
    return revision;
  }
  std::error_code error;
  const fs::path file = reference(revision);
  if (!fs::is_regular_file(file, error) || fs::file_size(file, error) > kLongestReference || error) {
    return std::nullopt;
  }
  return commit_of_reference(read_file(file, kLongestReference));
}

void ModelCache::remember(const std::string& revision, const std::string& commit) const {
  if (revision == commit || commit_of(revision) == commit) {
    return;
  }
  const fs::path file = reference(revision);
  make_folders(file.parent_path());
  write_file_atomically(file, commit);
}

void ModelCache::link(const std::string& commit, const std::string& file, const std::string& etag) const {
  fs::path target = fs::path("..") / ".." / "blobs" / etag;
  for (auto folders = std::ranges::count(file, '/'); folders > 0; --folders) {
    target = ".." / target;
  }
  const fs::path path = snapshot(commit) / file;
  std::error_code error;
  if (fs::is_symlink(path, error) && fs::read_symlink(path, error) == target) {
    return;
  }
  make_folders(path.parent_path());
  const fs::path temporary = temporary_name(path);
  fs::create_symlink(target, temporary, error);
  if (!error) {
    fs::rename(temporary, path, error);
  }
  if (error) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    fail_io("link", path, error.value());
  }
}

void ModelCache::note_absent(const std::string& commit, const std::string& file) const {
  const fs::path note = folder_ / ".no_exist" / commit / file;
  std::error_code error;
  if (!fs::exists(note, error)) {
    make_folders(note.parent_path());
    write_file_atomically(note, "");
  }
}

std::optional<std::string> commit_of_reference(std::string_view text) {
  text = text.substr(0, text.find_last_not_of("\n\r ") + 1);
  return is_hex(text, 40) ? std::optional(std::string(text)) : std::nullopt;
}

void make_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw Error(ErrorKind::kIo, concat("cannot make the folder ", quote(folder.native(), 4096), ": ", error.message()),
                "set HF_HUB_CACHE to a folder that may be written");
  }
}

FileLock::FileLock(const fs::path& path) : file_(locked_file(path)) {}

}  // namespace weft::hub
