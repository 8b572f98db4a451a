// SPDX-License-Identifier: Apache-2.0
// XXH3 (Yann Collet's xxHash, headers only) over bytes and files. It hashes faster than a disk writes.
#include "weft/core/disk/digest.h"

#include <algorithm>
#include <memory>
#include <string>

#include "weft/core/descriptor.h"
#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"

#include <xxhash.h>

namespace weft {
namespace {

// The digits of a digest do not depend on the machine's order of bytes.
std::string text_of(const XXH128_hash_t& hash) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  std::string text = "xxh3-128:";
  for (const unsigned char byte : bytes.digest) {
    text += hexadecimal(byte);
  }
  return text;
}

}  // namespace

std::string digest_of(std::string_view bytes) { return text_of(XXH3_128bits(bytes.data(), bytes.size())); }

std::string digest_of_file(const FilePlace& place) {
  constexpr std::size_t kPiece = 1 << 20;
  const Descriptor file = place.open();
  const std::uint64_t size = file.size();
  std::string piece(static_cast<std::size_t>(std::min<std::uint64_t>(size, kPiece)), '\0');
  const auto state = std::make_unique<XXH3_state_t>();
  XXH3_128bits_reset(state.get());
  for (std::uint64_t at = 0; at < size; at += kPiece) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size - at, kPiece));
    if (file.read_at(at, piece.data(), wanted) != wanted) {
      fail(ErrorKind::kIo, "cannot read ", quote(place.path().native(), 4096), ": it became shorter while it was read");
    }
    XXH3_128bits_update(state.get(), piece.data(), wanted);
  }
  return text_of(XXH3_128bits_digest(state.get()));
}

}  // namespace weft
