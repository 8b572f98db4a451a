// SPDX-License-Identifier: Apache-2.0
// UTF-16 as a stream of bytes becomes UTF-8, as programs for tables write "Unicode text".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::readers {

/// The mark that a text may begin with, which says its encoding.
struct ByteOrderMark {
  enum class Encoding { kUtf8, kUtf16Little, kUtf16Big, kUtf32 };
  Encoding encoding;
  std::string_view bytes;
};

/// The mark that `head` begins with, if there is one.
std::optional<ByteOrderMark> byte_order_mark(std::string_view head);

/// Whether more bytes behind `head` could make it a byte order mark, or a longer one than it begins with.
bool may_become_byte_order_mark(std::string_view head);

/// Bytes of UTF-16 in, in pieces of any size; UTF-8 out.
class Utf16Decoder {
 public:
  explicit Utf16Decoder(bool big_endian) : big_endian_(big_endian) {}

  /// Appends to `text` what `bytes` complete. False where they break the rules: half of a surrogate pair alone.
  bool add(std::string_view bytes, std::string& text);
  /// Whether the text may end here: not within a character.
  bool whole() const noexcept { return !half_ && high_ == 0; }
  /// Bytes that were added.
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  bool take(std::uint32_t unit, std::string& text);

  bool big_endian_;
  std::optional<unsigned char> half_;  // the first byte of a unit
  std::uint32_t high_ = 0;             // the first half of a surrogate pair, 0 for none
  std::uint64_t bytes_ = 0;
};

}  // namespace weft::readers
