// SPDX-License-Identifier: Apache-2.0
// Digests against XXH3's published values, and of files as of their bytes.
#include "weft/core/disk/digest.h"

#include <string>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"

namespace weft {
namespace {

TEST(Digest, IsThatOfXxh3) {
  // XXH3_128bits of nothing, as xxhsum -H2 prints it.
  EXPECT_EQ(digest_of(""), "xxh3-128:99aa06d3014798d86001c324468d497f");
  EXPECT_NE(digest_of("weft"), digest_of("wefu"));
}

TEST(Digest, OfAFileIsThatOfItsBytes) {
  const test::TemporaryDirectory directory;
  // Ends of the pieces in which a file is read.
  for (const std::size_t size : {0UL, 1UL, (1UL << 20) - 1, 1UL << 20, (1UL << 20) + 1, 3000001UL}) {
    std::string bytes(size, 'a');
    for (std::size_t i = 0; i < size; ++i) {
      bytes[i] = static_cast<char>(i * 2654435761U >> 13);
    }
    write_file_atomically(directory / "file", bytes);
    EXPECT_EQ(digest_of_file(directory / "file"), digest_of(bytes)) << size;
  }
}

TEST(Digest, OneBitChangesIt) {
  const test::TemporaryDirectory directory;
  std::string bytes(2000000, 'x');
  const std::string before = digest_of(bytes);
  bytes[1999999] ^= 1;
  write_file_atomically(directory / "file", bytes);
  EXPECT_NE(digest_of_file(directory / "file"), before);
}

TEST(Digest, NamesAFileThatCannotBeRead) {
  const test::TemporaryDirectory directory;
  test::expect_error(ErrorKind::kIo, {"absent", "No such file"}, [&] { digest_of_file(directory / "absent"); });
  test::expect_error(ErrorKind::kIo, {"directory"}, [&] { digest_of_file(directory.path()); });
}

}  // namespace
}  // namespace weft
