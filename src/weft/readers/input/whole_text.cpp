// SPDX-License-Identifier: Apache-2.0
// Piece by piece, since a pipe does not say how much will come.
#include "weft/readers/input/whole_text.h"

#include <vector>

#include "weft/core/error.h"

namespace weft::readers {

std::string read_whole_text(ByteSource source, std::uint64_t maximum_bytes) {
  constexpr std::size_t kPiece = 1 << 16;
  std::string text;
  std::vector<char> piece(kPiece);
  while (const std::size_t got = source.read(piece.data(), piece.size())) {
    text.append(piece.data(), got);
    if (text.size() > maximum_bytes) {
      fail(ErrorKind::kFormat, source.name(), ": a document must have at most ", maximum_bytes, " bytes, found more");
    }
  }
  return text;
}

}  // namespace weft::readers
