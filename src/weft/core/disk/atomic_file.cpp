// SPDX-License-Identifier: Apache-2.0
// A file that appears at its destination whole or not at all.
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/core/temporary_name.h"

namespace weft {
namespace {

// The permission bits of the file that is replaced, or those of a new file.
unsigned mode_for(const std::filesystem::path& destination) {
  struct stat status{};
  if (::stat(destination.c_str(), &status) != 0) {
    return 0666;
  }
  if (!S_ISREG(status.st_mode)) {
    fail(ErrorKind::kIo, "cannot write ", quote(destination.native(), 4096), ": ",
         S_ISDIR(status.st_mode) ? "it is a directory" : "it is not a regular file");
  }
  return status.st_mode & 0777;
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path destination) : destination_(resolve_destination(destination)) {
  const unsigned mode = mode_for(destination_);
  // In the destination's own folder, because a rename is atomic within one file system only. O_EXCL: a name that is
  // there already, or a link that somebody put there, is never written through.
  std::filesystem::path temporary = temporary_name(destination_);
  descriptor_ = Descriptor(temporary, O_WRONLY | O_CREAT | O_EXCL, mode, destination_);
  // Kept only once the file is ours: the destructor removes what this names.
  temporary_ = std::move(temporary);
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
  }
}

void AtomicFile::write(const void* data, std::size_t bytes) { descriptor_.write_all(data, bytes); }

void AtomicFile::commit() {
  // Content before name: a crash after a rename without this may leave the new name on an empty file.
  descriptor_.sync();
  descriptor_.close();
  if (::rename(temporary_.c_str(), destination_.c_str()) != 0) {
    fail_io("write", destination_, errno);
  }
  temporary_.clear();
  // The rename itself is an entry of the directory, and survives a crash once that is on disk.
  sync_directory(destination_.parent_path());
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace weft
