// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format, field by field, for looking into a message before a library is trusted with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::text {

/// One field: `bytes` for length-delimited ones, else `number` (fixed ones as their raw bits).
struct WireField {
  std::uint32_t number = 0;
  enum class Kind { kVarint, kFixed64, kBytes, kFixed32 } kind = Kind::kVarint;
  std::uint64_t value = 0;
  std::string_view bytes;
};

/// Walks the fields of one message.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}
  /// The next field; nothing at the end and when the message is malformed.
  std::optional<WireField> next();
  /// True once next() has met bytes that are no field. Groups, which nobody writes any more, are malformed too.
  bool malformed() const noexcept { return malformed_; }

 private:
  bool read_varint(std::uint64_t& value);
  bool read_fixed(int bytes, std::uint64_t& value);
  bool read_bytes(std::string_view& bytes);

  std::string_view rest_;
  bool malformed_ = false;
};

}  // namespace weft::text
