// SPDX-License-Identifier: Apache-2.0
// From text to tokens, and from a place in the text to a message with a caret under it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error.h"

namespace weft::pattern {

/// Bytes [begin, end) of the source.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

enum class TokenKind { kName, kInteger, kReal, kString, kSymbol, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  Span where;
  std::string_view text;     ///< of a string, what is between the quotes
  std::int64_t integer = 0;  ///< of kInteger
  double real = 0;           ///< of kReal and kInteger

  bool is(char symbol) const noexcept { return kind == TokenKind::kSymbol && text.front() == symbol; }
};

/// An expression is at most this long.
inline constexpr std::size_t kMaximumExpression = 64 * 1024;

/// All tokens, the last one kEnd. Errors: kExpression for a text that is too long, a byte that starts no token, a
/// number beyond 64 bits, a string without an end.
std::vector<Token> tokenize(std::string_view source);

/// Throws "pattern: <message>" with the line, a caret under `where`, and its line and column (from 1, in bytes).
[[noreturn]] void fail_at(std::string_view source, Span where, const std::string& message,
                          ErrorKind kind = ErrorKind::kExpression);

/// "'windw'", "the number 3", "the end": what was found, for messages.
std::string describe(const Token& token);

}  // namespace weft::pattern
