// SPDX-License-Identifier: Apache-2.0
// Files are read in pieces of 1 MiB: the largest shards have several GB.
#include "weft/hub/blob_digest.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <functional>

#include "weft/core/descriptor.h"
#include "weft/core/error.h"
#include "weft/core/interrupt.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"
#include "weft/formats/sha256.h"

namespace weft::hub {
namespace {

constexpr std::size_t kDigestPiece = std::size_t{1} << 20;
constexpr std::size_t kSha1Block = 64;

// The function and the constant of one of four groups of 20 rounds.
std::uint32_t round_term(int round, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  switch (round / 20) {
    case 0:
      return ((b & c) | (~b & d)) + 0x5a827999U;
    case 1:
      return (b ^ c ^ d) + 0x6ed9eba1U;
    case 2:
      return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcU;
    default:
      return (b ^ c ^ d) + 0xca62c1d6U;
  }
}

template <typename Hash>
void add_file(Hash& hash, const Descriptor& file, std::uint64_t size) {
  std::string piece(kDigestPiece, '\0');
  for (std::uint64_t at = 0; at < size;) {
    if (interrupted()) {
      fail(ErrorKind::kInterrupted, "stopped while checking ", quote(file.path().native(), 4096));
    }
    const std::size_t got = file.read_at(at, piece.data(), piece.size());
    if (got == 0) {  // it has shrunk meanwhile
      fail_io("read", file.path(), EIO);
    }
    hash.add(piece.data(), got);
    at += got;
  }
}

}  // namespace

void Sha1::compress(const std::uint8_t* block) {
  std::array<std::uint32_t, 80> word{};
  for (std::size_t i = 0; i < 16; ++i) {
    const std::uint8_t* const byte = block + 4 * i;
    word[i] = std::uint32_t{byte[0]} << 24 | std::uint32_t{byte[1]} << 16 | std::uint32_t{byte[2]} << 8 | byte[3];
  }
  for (std::size_t i = 16; i < word.size(); ++i) {
    word[i] = std::rotl(word[i - 3] ^ word[i - 8] ^ word[i - 14] ^ word[i - 16], 1);
  }
  auto [a, b, c, d, e] = state_;
  for (int round = 0; round < 80; ++round) {
    const std::uint32_t next = std::rotl(a, 5) + round_term(round, b, c, d) + e + word[static_cast<std::size_t>(round)];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  const std::array<std::uint32_t, 5> sum = {a, b, c, d, e};
  std::transform(state_.begin(), state_.end(), sum.begin(), state_.begin(), std::plus<>());
}

void Sha1::add(const void* data, std::size_t bytes) {
  const auto* from = static_cast<const std::uint8_t*>(data);
  while (bytes > 0) {
    const std::size_t held = bytes_ % kSha1Block;
    const std::size_t taken = std::min(bytes, kSha1Block - held);
    std::memcpy(rest_.data() + held, from, taken);
    bytes_ += taken;
    from += taken;
    bytes -= taken;
    if (bytes_ % kSha1Block == 0) {
      compress(rest_.data());
    }
  }
}

std::string Sha1::finish() {
  const std::uint64_t bits = bytes_ * 8;
  add(std::string_view("\x80", 1));
  while (bytes_ % kSha1Block != kSha1Block - 8) {
    add(std::string_view("\0", 1));
  }
  for (int shift = 56; shift >= 0; shift -= 8) {  // the length, its highest byte first
    const auto byte = static_cast<std::uint8_t>(bits >> shift);
    add(&byte, 1);
  }
  std::string text;
  for (const std::uint32_t word : state_) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      text += hexadecimal(static_cast<std::uint8_t>(word >> shift));
    }
  }
  return text;
}

std::string blob_digest(const std::filesystem::path& path, std::string_view etag) {
  const Descriptor file = Descriptor::open_regular(path);
  const std::uint64_t size = file.size();
  if (etag.size() == 64) {
    formats::Sha256 hash;
    add_file(hash, file, size);
    return formats::hexadecimal(hash.digest());
  }
  Sha1 hash;
  hash.add(concat("blob ", size));
  hash.add(std::string_view("\0", 1));
  add_file(hash, file, size);
  return hash.finish();
}

}  // namespace weft::hub
