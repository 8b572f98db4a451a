// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4): tells two texts apart beyond doubt, and a damaged file from a whole one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::formats {

/// The 32 bytes of a digest.
using Digest = std::array<std::uint8_t, 32>;

/// 64 hexadecimal digits, in lower case.
std::string hexadecimal(const Digest& digest);

/// The digest of bytes that come in pieces.
class Sha256 {
 public:
  void add(const void* data, std::size_t bytes);
  void add(std::string_view text) { add(text.data(), text.size()); }
  /// The eight bytes of `number`, the lowest first.
  void add_number(std::uint64_t number);
  /// The digest of everything added so far; more may follow.
  Digest digest() const;

 private:
  void compress(const std::uint8_t* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> rest_{};  // bytes that do not fill a block yet
  std::uint64_t bytes_ = 0;
};

}  // namespace weft::formats
