// SPDX-License-Identifier: Apache-2.0
// A link under a temporary name, then a rename.
#include "weft/core/disk/links.h"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <unistd.h>

#include "weft/core/descriptor.h"
#include "weft/core/files.h"
#include "weft/core/temporary_name.h"

namespace weft {

void replace_by_link(const std::filesystem::path& from, const std::filesystem::path& to) {
  const std::filesystem::path temporary = temporary_name(to);
  std::error_code error;
  std::filesystem::create_hard_link(from, temporary, error);
  if (error) {
    write_file_atomically(to, read_file(from));
    return;
  }
  const int reason = ::rename(temporary.c_str(), to.c_str()) == 0 ? 0 : errno;
  // By POSIX, a rename between two names of one file does nothing and succeeds: both names are still there.
  ::unlink(temporary.c_str());
  if (reason != 0) {
    fail_io("replace", to, reason);
  }
}

}  // namespace weft
