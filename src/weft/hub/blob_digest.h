// SPDX-License-Identifier: Apache-2.0
// The name of a file in the cache is its digest: the SHA-256 of a large file, or git's SHA-1 of a small one. Whoever
// has the name can say whether the file is whole.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace weft::hub {

/// SHA-1 (FIPS 180-4), as git names files by it. It finds accidents; somebody who means to deceive can get around it.
class Sha1 {
 public:
  void add(const void* data, std::size_t bytes);
  void add(std::string_view text) { add(text.data(), text.size()); }
  /// The 40 hexadecimal digits of everything that was added. Nothing may be added afterwards.
  std::string finish();

 private:
  void compress(const std::uint8_t* block);

  std::array<std::uint32_t, 5> state_ = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  std::array<std::uint8_t, 64> rest_{};  // bytes that do not fill a block yet
  std::uint64_t bytes_ = 0;
};

/// The digest of a regular file in the form of `etag`: with 64 digits the SHA-256 of its bytes, with 40 the SHA-1 of
/// "blob <size>", a zero byte and its bytes. Errors: kIo; kInterrupted where a guard saw a signal.
std::string blob_digest(const std::filesystem::path& file, std::string_view etag);

}  // namespace weft::hub
