// SPDX-License-Identifier: Apache-2.0
// The magic bytes of the formats that people compress text with. Those of bzip2 alone could begin a text ("BZh9"), so
// the first bytes of its first block belong to them.
#include "weft/readers/compression.h"

#include <algorithm>
#include <array>

namespace weft::readers {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kBlockMagic = "\x31\x41\x59\x26\x53\x59"sv;
constexpr std::string_view kEndMagic = "\x17\x72\x45\x38\x50\x90"sv;
constexpr std::size_t kLevelPlace = 3;  // of the digit in "BZh9"

constexpr std::array kKnown = {
    Compression{"gzip", "\x1F\x8B"sv, ""},
    Compression{"xz",
                "\xFD"
                "7zXZ\0"sv,
                "xz --decompress --keep"},
    Compression{"zstd", "\x28\xB5\x2F\xFD"sv, "zstd --decompress"},
    Compression{"zip", "PK\x03\x04"sv, "unzip"},
    Compression{"zip", "PK\x05\x06"sv, "unzip"},
    Compression{"lz4", "\x04\x22\x4D\x18"sv, "lz4 --decompress"},
    Compression{"7z", "7z\xBC\xAF\x27\x1C"sv, "7z x"},
};
constexpr Compression kBzip2 = {"bzip2", "BZh"sv, "bzip2 --decompress --keep"};

bool agree(std::string_view left, std::string_view right) {
  const std::size_t length = std::min(left.size(), right.size());
  return left.substr(0, length) == right.substr(0, length);
}

// Whether `head`, which may be shorter, is that of bzip2 as far as it goes.
bool agrees_with_bzip2(std::string_view head) {
  if (!agree(head, kBzip2.magic) || head.size() <= kLevelPlace) {
    return agree(head, kBzip2.magic);
  }
  const std::string_view block = head.substr(kLevelPlace + 1);
  const bool level = head[kLevelPlace] >= '1' && head[kLevelPlace] <= '9';
  return level && (agree(block, kBlockMagic) || agree(block, kEndMagic));
}

}  // namespace

std::optional<Compression> compression_of(std::string_view head) {
  const auto* found = std::find_if(kKnown.begin(), kKnown.end(),
                                   [&](const Compression& known) { return head.starts_with(known.magic); });
  if (found != kKnown.end()) {
    return *found;
  }
  const bool whole = head.size() > kLevelPlace + kBlockMagic.size();
  return whole && agrees_with_bzip2(head) ? std::optional(kBzip2) : std::nullopt;
}

bool may_become_compressed(std::string_view head) {
  if (compression_of(head)) {
    return false;
  }
  const bool bzip2 = head.size() <= kLevelPlace + kBlockMagic.size() && agrees_with_bzip2(head);
  return bzip2 || std::any_of(kKnown.begin(), kKnown.end(), [&](const Compression& known) {
           return head.size() < known.magic.size() && known.magic.starts_with(head);
         });
}

}  // namespace weft::readers
