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
namespace {

// Piece by piece: what is linked elsewhere is the weights of a model.
void copy_file_atomically(const std::filesystem::path& from, const std::filesystem::path& to) {
  const Descriptor source = Descriptor::open_regular(from);
  const std::uint64_t size = source.size();
  std::string piece(std::size_t{1} << 20, '\0');
  AtomicFile copy(to);
  for (std::uint64_t at = 0; at < size;) {
    const std::size_t got = source.read_at(at, piece.data(), piece.size());
    if (got == 0) {
      fail_io("read", from, EIO);
    }
    copy.write(piece.data(), got);
    at += got;
  }
  copy.commit();
}

}  // namespace

void replace_by_link(const std::filesystem::path& from, const std::filesystem::path& to) {
  const std::filesystem::path temporary = temporary_name(to);
  std::error_code error;
  std::filesystem::create_hard_link(from, temporary, error);
  if (error) {
    copy_file_atomically(from, to);
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
