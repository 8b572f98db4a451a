// SPDX-License-Identifier: Apache-2.0
// The one exception type of Weft. A caller's mistake becomes an Error that says what was wrong, where, what was
// expected and what was found, on one line; front ends map its kind to an exit code or an HTTP status.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace weft {

/// What kind of thing went wrong: exit codes and HTTP statuses follow from it.
enum class ErrorKind {
  kArgument,     ///< a value the caller gave is out of range or of the wrong shape
  kExpression,   ///< a pattern or mechanism string does not parse or does not make sense
  kFormat,       ///< a file's content breaks the rules of its format
  kIo,           ///< the operating system refused a read or a write
  kNumeric,      ///< a computation left the finite numbers
  kUnsupported,  ///< a valid request that this build or machine cannot serve
  kInterrupted,  ///< SIGINT or SIGTERM arrived and work was saved
};

/// A known failure. what() is one line with what, where, expected and found.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::string hint = {})
      : std::runtime_error(message), kind_(kind), hint_(std::move(hint)) {}
  ErrorKind kind() const noexcept { return kind_; }
  /// What the user may do about it, empty when there is nothing to add.
  const std::string& hint() const noexcept { return hint_; }

 private:
  ErrorKind kind_;
  std::string hint_;
};

/// Joins anything that prints to a stream: `concat("head_dim must be ", expected, ", found ", found)`. A part that is a
/// function without arguments is what it returns.
template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream stream;
  const auto print = [&stream](const auto& part) {
    if constexpr (std::is_invocable_v<decltype(part)>) {
      stream << part();
    } else {
      stream << part;
    }
  };
  (print(parts), ...);
  return stream.str();
}

/// Throws Error(kind) with the concatenated message.
template <typename... Parts>
[[noreturn]] void fail(ErrorKind kind, const Parts&... parts) {
  throw Error(kind, concat(parts...));
}

/// Throws Error(kArgument) unless `condition` holds. Nothing is printed where it holds: a part that costs something to
/// make is given as a function, `[&] { return joined(names, ", "); }`, and a text from elsewhere as Quoted (quote.h).
template <typename... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]] {
    fail(ErrorKind::kArgument, parts...);
  }
}

}  // namespace weft
