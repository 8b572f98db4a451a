// SPDX-License-Identifier: Apache-2.0
// A file is made under a name that nobody else has, which is removed at once.
#include "weft/core/disk/scratch_file.h"

#include <cerrno>
#include <cstdlib>
#include <random>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "weft/core/environment.h"
#include "weft/core/quote.h"

namespace weft {

Descriptor scratch_file(std::string_view content, const std::filesystem::path& shown) {
  const std::filesystem::path path =
      temporary_directory() / concat(".weft-", content, "-", ::getpid(), "-", std::random_device{}());
  // By its own path: what the file stands for is no reason that it cannot be made.
  with_temporary_folder([&] { Descriptor(path, O_WRONLY | O_CREAT | O_EXCL, 0600).close(); });
  Descriptor file(path, O_RDWR, 0600, shown);
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return file;
}

void rethrow_with_temporary_folder(const Error& error) {
  if (error.kind() != ErrorKind::kIo || !error.hint().empty()) {
    throw;
  }
  const std::string chosen = environment("TMPDIR").value_or("");
  throw Error(error.kind(), error.what(),
              concat("temporary files are in ", quote(chosen.empty() ? "/tmp" : chosen, 4096),
                     "; TMPDIR names another folder for them"));
}

void write_scratch(Descriptor& file, const void* data, std::size_t bytes) {
  with_temporary_folder([&] { file.write_all(data, bytes); });
}

TemporaryFolder::TemporaryFolder(std::string_view content) {
  std::string name = (temporary_directory() / concat("weft-", content, "-XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) {
    const int reason = errno;
    with_temporary_folder([&] { fail_io("write", name, reason); });
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace weft
