// SPDX-License-Identifier: Apache-2.0
// The door to files that are read: a path that the user named, or a file of a model's directory. Directories come from
// other people, and a link among their files must not make Weft read, show or copy what lies elsewhere.
#pragma once

#include <concepts>
#include <filesystem>

#include "weft/core/descriptor.h"

namespace weft {

/// Where a file lies that is to be read, and how far its links may lead.
class FilePlace {
 public:
  /// A path that the user named, or that Weft made: links are followed wherever they lead.
  template <std::convertible_to<std::filesystem::path> Path>
  explicit(false) FilePlace(const Path& path) : path_(path) {}

  /// As messages name it.
  const std::filesystem::path& path() const noexcept { return path_; }
  /// Whether something of that name is there. A link that leads nowhere is: open() says so. Errors: kIo where the
  /// system does not let us look.
  bool exists() const;
  /// The regular file, open for reading. Errors: kIo; kFormat, see ModelFile and Descriptor::open_regular().
  Descriptor open() const;

 protected:
  FilePlace(const std::filesystem::path& directory, const std::filesystem::path& name)
      : path_(directory / name), directory_(directory.empty() ? "." : directory), name_(name) {}

 private:
  Descriptor open_within() const;
  std::filesystem::path path_;
  std::filesystem::path directory_;  // empty: a path by itself
  std::filesystem::path name_;
};

/// A file of a model's directory, of a run or of what lies beside it: read by its name below `directory`, which may
/// itself be a link. open() refuses with kFormat a file whose real place is not below the directory's real place; the
/// blobs of a Hub cache are as good as below, where the directory is one of its snapshots. What is looked at is the
/// file that was opened, so that nobody can exchange it between the look and the reading. Refused with kFormat, too: a
/// web page in place of the file, as a download behind a login leaves one.
class ModelFile : public FilePlace {
 public:
  ModelFile(const std::filesystem::path& directory, const std::filesystem::path& name) : FilePlace(directory, name) {}
};

/// Throws kFormat unless the real place of `path` is below that of `directory`, as for a ModelFile; `path` may be a
/// folder, such as a checkpoint of a run. A path that is not there passes; a link that leads nowhere is kIo, so that
/// nothing is written through it either.
void check_stays_within(const std::filesystem::path& directory, const std::filesystem::path& path);

/// Marks a path that the user named where a function reads files of directories, too: scripts/lint asks for this or for
/// a ModelFile there.
inline std::filesystem::path named_by_user(std::filesystem::path path) { return path; }

}  // namespace weft
