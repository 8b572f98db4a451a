// SPDX-License-Identifier: Apache-2.0
// A file that is no link is opened without following one. A link is followed, and then the kernel is asked which file
// was opened.
#include "weft/core/disk/model_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <iterator>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

bool is_link(const fs::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

bool is_below(const fs::path& file, const fs::path& directory) {
  return std::mismatch(directory.begin(), directory.end(), file.begin(), file.end()).first == directory.end();
}

// A snapshot of the Hub's cache links to blobs/ of its model's folder, and perhaps from there to the blobs/ that all
// models of the cache share: <cache>/models--org--name/snapshots/<commit>, the folder `home` or one above it.
bool is_blob_of(const fs::path& home, const fs::path& target) {
  for (fs::path folder = home; folder.has_relative_path(); folder = folder.parent_path()) {
    const fs::path model = folder.parent_path().parent_path();
    const bool named = model.filename().native().starts_with("models--");
    if (folder.parent_path().filename() == "snapshots" && (named || folder == home)) {
      return is_below(target, model / "blobs") || (named && is_below(target, model.parent_path() / "blobs"));
    }
  }
  return false;
}

[[noreturn]] void refuse(const fs::path& path, const fs::path& directory, const fs::path& target) {
  throw Error(ErrorKind::kFormat,
              concat(quote(path.native(), 4096),
                     is_link(path) ? " is a symbolic link that leaves the directory "
                                   : " lies behind a symbolic link that leaves the directory ",
                     quote(directory.native(), 1024), ": it leads to ", quote(target.native(), 1024)),
              "Weft reads nothing outside of a directory through it; if you trust the file, put a copy of it in the "
              "place of the link");
}

void check_place(const fs::path& path, const fs::path& directory, const fs::path& target) {
  std::error_code error;
  const fs::path home = fs::canonical(directory, error);
  if (error) {
    fail_io("open", directory, error.value());
  }
  if (!is_below(target, home) && !is_blob_of(home, target)) {
    refuse(path, directory, target);
  }
}

// Where the path leads. A link that leads nowhere is told apart from a file that is not there.
fs::path real_place(const fs::path& path) {
  std::error_code error;
  fs::path target = fs::canonical(path, error);
  if (error && is_link(path)) {
    std::error_code unreadable;
    const fs::path link = fs::read_symlink(path, unreadable);
    fail(ErrorKind::kIo, "cannot open ", quote(path.native(), 4096), ": it is a symbolic link to ",
         quote(link.native(), 1024), ": ", error.message());
  }
  if (error) {
    fail_io("open", path, error.value());
  }
  return target;
}

// Which file is open, asked of the kernel. Without /proc the path is asked again, and must name the same file.
fs::path place_of(const Descriptor& file) {
  std::error_code error;
  fs::path place = fs::read_symlink("/proc/self/fd/" + std::to_string(file.number()), error);
  if (!error) {
    return place;
  }
  place = real_place(file.path());
  struct stat opened{};
  struct stat named{};
  if (::fstat(file.number(), &opened) != 0 || ::lstat(place.c_str(), &named) != 0 || opened.st_ino != named.st_ino ||
      opened.st_dev != named.st_dev) {
    fail(ErrorKind::kIo, "cannot read ", quote(file.path().native(), 4096), ": it changed while it was opened");
  }
  return place;
}

// Error pages of servers, which a download without a login or of a wrong address leaves. Cards of models may begin so.
void refuse_web_page(const Descriptor& file, const fs::path& name) {
  std::array<char, 64> start{};
  std::string_view head(start.data(), file.read_at(0, start.data(), start.size()));
  head.remove_prefix(head.starts_with("\xEF\xBB\xBF") ? 3 : 0);
  head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  std::string lower;
  std::transform(head.begin(), head.end(), std::back_inserter(lower),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool is_page = lower.starts_with("<!doctype html") || lower.starts_with("<html") || lower.starts_with("<?xml");
  if (is_page && name.extension() != ".md") {
    throw Error(ErrorKind::kFormat,
                concat(quote(file.path().native(), 4096), " holds a web page in place of the file: it begins with ",
                       quote(head, 40)),
                "what was downloaded is a server's page, perhaps of an error or a login: get the file again, for "
                "example with `weft download`");
  }
}

}  // namespace

bool FilePlace::exists() const {
  struct stat status{};
  if (::lstat(path_.c_str(), &status) == 0) {
    return true;
  }
  if (errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG) {
    fail_io("open", path_, errno);
  }
  return false;
}

Descriptor FilePlace::open() const {
  if (directory_.empty()) {
    return Descriptor::open_regular(path_);
  }
  Descriptor file = open_within();
  refuse_web_page(file, name_);
  return file;
}

Descriptor FilePlace::open_within() const {
  const bool plain = std::distance(name_.begin(), name_.end()) == 1 && name_ != ".." && !name_.is_absolute();
  if (plain && !is_link(path_)) {
    return Descriptor::open_regular(path_, O_NOFOLLOW);
  }
  // Looked at before it is opened, because opening a device may do something; and after it, because the path may name
  // something else by then.
  check_place(path_, directory_, real_place(path_));
  Descriptor file = Descriptor::open_regular(path_);
  check_place(path_, directory_, place_of(file));
  return file;
}

void check_stays_within(const fs::path& directory, const fs::path& path) {
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  if (!error || is_link(path)) {
    check_place(path, directory.empty() ? "." : directory, error ? real_place(path) : target);
  }
}

}  // namespace weft
