// SPDX-License-Identifier: Apache-2.0
// A unit at a time; what is held back is at most three bytes.
#include "weft/readers/utf16.h"

#include <algorithm>
#include <array>

namespace weft::readers {
namespace {

using namespace std::string_view_literals;
using Encoding = ByteOrderMark::Encoding;

constexpr std::uint32_t kFirstHigh = 0xD800;
constexpr std::uint32_t kFirstLow = 0xDC00;
constexpr std::uint32_t kBehindLow = 0xE000;
constexpr std::uint32_t kPairs = 0x10000;  // the first code point that takes two units

// That of UTF-32 begins as that of UTF-16 does, so it comes first.
constexpr std::array kMarks = {
    ByteOrderMark{Encoding::kUtf8, "\xEF\xBB\xBF"sv}, ByteOrderMark{Encoding::kUtf32, "\xFF\xFE\0\0"sv},
    ByteOrderMark{Encoding::kUtf32, "\0\0\xFE\xFF"sv}, ByteOrderMark{Encoding::kUtf16Little, "\xFF\xFE"sv},
    ByteOrderMark{Encoding::kUtf16Big, "\xFE\xFF"sv}};

void append_utf8(std::uint32_t code, std::string& text) {
  const auto following = [&](int shift) { text.push_back(static_cast<char>(0x80U | ((code >> shift) & 0x3FU))); };
  if (code < 0x80) {
    text.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    text.push_back(static_cast<char>(0xC0U | (code >> 6)));
    following(0);
  } else if (code < kPairs) {
    text.push_back(static_cast<char>(0xE0U | (code >> 12)));
    following(6);
    following(0);
  } else {
    text.push_back(static_cast<char>(0xF0U | (code >> 18)));
    following(12);
    following(6);
    following(0);
  }
}

}  // namespace

std::optional<ByteOrderMark> byte_order_mark(std::string_view head) {
  const auto* found = std::find_if(kMarks.begin(), kMarks.end(),
                                   [&](const ByteOrderMark& mark) { return head.starts_with(mark.bytes); });
  return found == kMarks.end() ? std::nullopt : std::optional(*found);
}

bool may_become_byte_order_mark(std::string_view head) {
  return std::any_of(kMarks.begin(), kMarks.end(), [&](const ByteOrderMark& mark) {
    return head.size() < mark.bytes.size() && mark.bytes.starts_with(head);
  });
}

bool Utf16Decoder::take(std::uint32_t unit, std::string& text) {
  const bool low = unit >= kFirstLow && unit < kBehindLow;
  if (low != (high_ != 0)) {
    return false;
  }
  if (low) {
    append_utf8(kPairs + ((high_ - kFirstHigh) << 10) + (unit - kFirstLow), text);
    high_ = 0;
  } else if (unit >= kFirstHigh && unit < kFirstLow) {
    high_ = unit;
  } else {
    append_utf8(unit, text);
  }
  return true;
}

bool Utf16Decoder::add(std::string_view bytes, std::string& text) {
  for (const char byte : bytes) {
    const auto number = static_cast<unsigned char>(byte);
    ++bytes_;
    if (!half_) {
      half_ = number;
      continue;
    }
    const unsigned first = *half_;
    half_.reset();
    if (!take(big_endian_ ? first << 8 | number : static_cast<unsigned>(number) << 8 | first, text)) {
      return false;
    }
  }
  return true;
}

}  // namespace weft::readers
