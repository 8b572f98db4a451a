// SPDX-License-Identifier: Apache-2.0
// Files for what does not stay. One without a name is gone when it is closed, however the process ends; a folder is
// removed with what lies in it. Where the system refuses one, or has no room for it, the message says how to choose
// another place.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

#include "weft/core/descriptor.h"
#include "weft/core/error.h"

namespace weft {

/// Makes a file without a name in temporary_directory(). Messages about it name `shown`, or its first path where that
/// is empty; `content` says in that path what it holds. Errors: kIo naming the folder and TMPDIR where none can be
/// made.
Descriptor scratch_file(std::string_view content, const std::filesystem::path& shown = {});

/// To be called where `error`, of work with temporary files, is caught. Throws it, and with a hint that names their
/// folder and TMPDIR where it is a kIo error without one.
[[noreturn]] void rethrow_with_temporary_folder(const Error& error);

/// Runs `work`, which writes temporary files. Errors: those of `work`, as rethrow_with_temporary_folder() has them.
template <typename Work>
void with_temporary_folder(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    rethrow_with_temporary_folder(error);
  }
}

/// Appends to a scratch_file(). Errors: kIo naming the folder and TMPDIR, where the disk is full for example.
void write_scratch(Descriptor& file, const void* data, std::size_t bytes);

/// A folder in temporary_directory(), removed with what lies in it.
class TemporaryFolder {
 public:
  /// `content` says in its name what it holds. Errors: as scratch_file().
  explicit TemporaryFolder(std::string_view content);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace weft
