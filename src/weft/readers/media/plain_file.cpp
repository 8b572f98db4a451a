// SPDX-License-Identifier: Apache-2.0
// Bytes go through memory a piece at a time.
#include "weft/readers/media/plain_file.h"

#include <vector>

#include "weft/core/disk/scratch_file.h"
#include "weft/readers/byte_source.h"

namespace weft::readers {

Descriptor open_plain(const std::filesystem::path& path) {
  ByteSource source(path, ByteSource::Content::kAny);
  if (!source.compressed()) {
    return Descriptor::open_regular(path);
  }
  constexpr std::size_t kBytesAtOnce = std::size_t{1} << 20;
  Descriptor plain = scratch_file("media", path);
  std::vector<char> piece(kBytesAtOnce);
  for (std::size_t got = 1; got > 0;) {
    got = source.read(piece.data(), piece.size());
    write_scratch(plain, piece.data(), got);
  }
  return plain;
}

std::filesystem::path unpacked_name(const std::filesystem::path& path) {
  return path.extension() == ".gz" ? path.parent_path() / path.stem() : path;
}

}  // namespace weft::readers
