// SPDX-License-Identifier: Apache-2.0
// Made under a name that nobody else has, which is removed at once.
#include "weft/core/disk/scratch_file.h"

#include <random>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "weft/core/environment.h"
#include "weft/core/error.h"

namespace weft {

Descriptor scratch_file(std::string_view content, const std::filesystem::path& shown) {
  const std::filesystem::path path =
      temporary_directory() / concat(".weft-", content, "-", ::getpid(), "-", std::random_device{}());
  try {
    // By its own path: what the file stands for is no reason that it cannot be made.
    Descriptor(path, O_WRONLY | O_CREAT | O_EXCL, 0600).close();
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), "TMPDIR names the folder of temporary files");
  }
  Descriptor file(path, O_RDWR, 0600, shown);
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return file;
}

}  // namespace weft
