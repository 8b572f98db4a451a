// SPDX-License-Identifier: Apache-2.0
// A word that must be an integer and nothing else: a key of somebody's JSON, a part of a name, a variable.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace weft {

/// The number that all of `word` writes in decimal, with '-' in front where it is negative; nothing for any other word
/// or a number beyond 64 bits.
inline std::optional<std::int64_t> integer_of(std::string_view word) noexcept {
  std::int64_t number = 0;
  const char* const first = word.data();  // NOLINT(bugprone-suspicious-stringview-data-usage): its size is used
  const char* const last = first + word.size();
  const auto [end, error] = std::from_chars(first, last, number);
  return error == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

}  // namespace weft
