// SPDX-License-Identifier: Apache-2.0
// Made and unlinked at once.
#include "weft/data/scratch_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <system_error>

#include "weft/core/error.h"

namespace weft::data {

Descriptor scratch_file(std::string_view content) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / concat(".weft-", content, "-", ::getpid(), "-", std::random_device{}());
  Descriptor file(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return file;
}

}  // namespace weft::data
