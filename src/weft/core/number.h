// SPDX-License-Identifier: Apache-2.0
// Words that are numbers from their first letter to their last, and hexadecimal digits, whatever the locale.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace weft {

/// The number that all of `word` writes as std::from_chars reads it; nothing for any other word, or one beyond Number.
template <typename Number>
std::optional<Number> number_of(std::string_view word) noexcept {
  Number number{};
  const char* const first = word.data();  // NOLINT(bugprone-suspicious-stringview-data-usage): its size is used
  const char* const last = first + word.size();
  const auto [end, error] = std::from_chars(first, last, number);
  return error == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

/// In decimal, with '-' in front where it is negative.
inline std::optional<std::int64_t> integer_of(std::string_view word) noexcept { return number_of<std::int64_t>(word); }

/// As C++ writes it without a suffix, "inf" and "nan" included.
inline std::optional<double> real_of(std::string_view word) noexcept { return number_of<double>(word); }

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

/// The two hexadecimal digits of a byte, in lower case.
inline std::string hexadecimal(std::uint8_t byte) { return {kHexDigits[byte >> 4], kHexDigits[byte & 15U]}; }

}  // namespace weft
