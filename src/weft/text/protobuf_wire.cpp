// SPDX-License-Identifier: Apache-2.0
// Tags, varints, fixed values and lengths; nothing is believed.
#include "weft/text/protobuf_wire.h"

namespace weft::text {

bool WireReader::read_varint(std::uint64_t& value) {
  value = 0;
  constexpr int kBits = 64;
  for (int shift = 0; shift < kBits && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) {
      return true;
    }
  }
  return false;
}

bool WireReader::read_fixed(int bytes, std::uint64_t& value) {
  if (rest_.size() < static_cast<std::size_t>(bytes)) {
    return false;
  }
  value = 0;
  for (int i = 0; i < bytes; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
  }
  rest_.remove_prefix(bytes);
  return true;
}

bool WireReader::read_bytes(std::string_view& bytes) {
  std::uint64_t length = 0;
  if (!read_varint(length) || length > rest_.size()) {
    return false;
  }
  bytes = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return true;
}

std::optional<WireField> WireReader::next() {
  if (rest_.empty() || malformed_) {
    return std::nullopt;
  }
  WireField field;
  std::uint64_t tag = 0;
  bool good = read_varint(tag) && tag >> 3 > 0 && tag >> 32 == 0;
  field.number = static_cast<std::uint32_t>(tag >> 3);
  switch (tag & 7) {
    case 0:
      good = good && read_varint(field.value);
      break;
    case 1:
      field.kind = WireField::Kind::kFixed64;
      good = good && read_fixed(8, field.value);
      break;
    case 2:
      field.kind = WireField::Kind::kBytes;
      good = good && read_bytes(field.bytes);
      break;
    case 5:
      field.kind = WireField::Kind::kFixed32;
      good = good && read_fixed(4, field.value);
      break;
    default:
      good = false;
  }
  malformed_ = !good;
  return good ? std::optional(field) : std::nullopt;
}

}  // namespace weft::text
