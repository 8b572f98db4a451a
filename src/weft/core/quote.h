// SPDX-License-Identifier: Apache-2.0
// Text from elsewhere inside our messages: always one line, never longer than a person reads; and the nearest known
// name, for "did you mean".
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>

namespace weft {

/// 'text' in single quotes, with control bytes, quotes and invalid UTF-8 as \xNN, cut to `maximum_bytes` with "..." at
/// the cut.
std::string quote(std::string_view text, std::size_t maximum_bytes = 80);

/// The same for a message that may never be printed: quote() is called where it is. It lives no longer than its text.
class Quoted {
 public:
  explicit Quoted(std::string_view text, std::size_t maximum_bytes = 80) : text_(text), maximum_bytes_(maximum_bytes) {}
  friend std::ostream& operator<<(std::ostream& stream, const Quoted& quoted) {
    return stream << quote(quoted.text_, quoted.maximum_bytes_);
  }

 private:
  std::string_view text_;
  std::size_t maximum_bytes_;
};

/// 'first', 'second' and so on, `most` of them, then how many more there are.
std::string quoted_list(std::span<const std::string> texts, std::size_t most);

/// "did you mean 'classify'?" where nearest_name() finds one among `candidates`, else nothing.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

/// The candidate within two edits (a third of the name's length when it is shorter) of `name`, or an empty view.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace weft
