// SPDX-License-Identifier: Apache-2.0
// The lexer and its diagnostics.
#include "weft/pattern/language/lexer.h"

#include <algorithm>
#include <charconv>
#include <memory>

#include "weft/core/quote.h"
#include "weft/core/utf8_sequence.h"
#include "weft/pattern/expression_error.h"

namespace weft::pattern {
namespace {

constexpr std::size_t kShown = 100;  // columns of a long line that a message shows

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Bytes of the printable character that the text begins with, or 0.
std::size_t character_length(std::string_view text) {
  if (text.empty() || (text[0] >= '\0' && text[0] < ' ') || text[0] == '\x7F') {
    return 0;
  }
  // What quote() leaves as it is may be shown: it escapes control characters and line separators.
  const std::size_t length = utf8_sequence_length(text);
  const bool escaped = length > 1 && quote(text.substr(0, length)).find('\\') != std::string::npos;
  return escaped ? 0 : length;
}

/// Whole characters of UTF-8 as they are; every other byte that a terminal does not print as one column becomes '?'.
std::string printable(std::string_view text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text.substr(at));
    if (length > 0) {
      shown += text.substr(at, length);
    } else {
      shown += text[at] == '\t' ? ' ' : '?';
    }
    at += std::max<std::size_t>(length, 1);
  }
  return shown;
}

/// Columns of a terminal: two for the characters of East Asia, one for all others.
std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text.substr(at));
    columns += length == 3 && text.substr(at) >= "\u1100" && (text.substr(at) < "\u1160" || text.substr(at) >= "\u2E80")
                   ? 2
                   : 1;
    at += std::max<std::size_t>(length, 1);
  }
  return columns;
}

/// Whether the byte goes on a character of UTF-8 that another one began.
bool is_inside_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) {
    at += std::max<std::size_t>(character_length(text.substr(at)), 1);
  }
  return count;
}

std::string describe_character(std::string_view text) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  const auto value = static_cast<unsigned char>(text[0]);
  const std::size_t length = character_length(text);
  return length > 0 && text[0] != ' ' ? concat("character '", text.substr(0, length), "'")
                                      : concat("byte 0x", kDigits[value / 16], kDigits[value % 16]);
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    do {
      tokens.push_back(next());
    } while (tokens.back().kind != TokenKind::kEnd);
    return tokens;
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }

  /// The token from `begin` to here.
  Token finish(TokenKind kind, std::size_t begin) const {
    return {kind, {begin, at_}, source_.substr(begin, at_ - begin)};
  }

  Token next() {
    while (at_ < source_.size() && is_space(source_[at_])) {
      ++at_;
    }
    const std::size_t begin = at_;
    if (at_ == source_.size()) {
      return finish(TokenKind::kEnd, begin);
    }
    if (is_letter(peek())) {
      while (is_letter(peek()) || is_digit(peek())) {
        ++at_;
      }
      return finish(TokenKind::kName, begin);
    }
    if (is_digit(peek()) || (peek() == '-' && is_digit(peek(1)))) {
      return number();
    }
    if (peek() == '"') {
      return string();
    }
    ++at_;
    if (std::string_view("()[],=*|&!").find(source_[begin]) == std::string_view::npos) {
      at_ = begin + std::max<std::size_t>(character_length(source_.substr(begin)), 1);
      fail_at(source_, {begin, at_}, "unexpected " + describe_character(source_.substr(begin)));
    }
    return finish(TokenKind::kSymbol, begin);
  }

  void skip_digits() {
    while (is_digit(peek())) {
      ++at_;
    }
  }

  /// 12, -3, 0.5, 1e-4: digits around a point, or with an exponent, are a real number; a point without digits is none.
  Token number() {
    const std::size_t begin = at_++;
    skip_digits();
    bool real = false;
    if (peek() == '.' && is_digit(peek(1))) {
      real = true;
      ++at_;
      skip_digits();
    }
    const bool sign = peek(1) == '-' || peek(1) == '+';
    if ((peek() == 'e' || peek() == 'E') && is_digit(peek(sign ? 2 : 1))) {
      real = true;
      at_ += sign ? 2 : 1;
      skip_digits();
    }
    Token token = finish(real ? TokenKind::kReal : TokenKind::kInteger, begin);
    const char* const first = std::to_address(token.text.begin());
    const char* const end = std::to_address(token.text.end());
    if (!real && std::from_chars(first, end, token.integer).ec != std::errc()) {
      fail_at(source_, token.where, "the number does not fit in 64 bits");
    }
    if (std::from_chars(first, end, token.real).ec != std::errc()) {
      fail_at(source_, token.where, "the number is out of range");
    }
    return token;
  }

  /// No escapes: a quote ends it, and it must end on its line.
  Token string() {
    const std::size_t begin = at_++;
    const std::size_t end = source_.find_first_of("\"\n", at_);
    if (end == std::string_view::npos || source_[end] != '"') {
      fail_at(source_, {begin, begin + 1}, "the string has no closing quote");
    }
    Token token{TokenKind::kString, {begin, end + 1}, source_.substr(at_, end - at_)};
    at_ = end + 1;
    return token;
  }

  std::string_view source_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  if (source.size() > kMaximumExpression) {
    fail(ErrorKind::kExpression, "pattern: an expression is at most ", kMaximumExpression, " bytes long, found ",
         source.size());
  }
  return Lexer(source).run();
}

// Shows the one line of the place, at most kShown bytes of it around the place, with a caret under the first character.
void fail_at(std::string_view source, Span where, const std::string& message, ErrorKind kind) {
  const std::size_t before = where.begin == 0 ? std::string_view::npos : source.rfind('\n', where.begin - 1);
  const std::size_t line_begin = before == std::string_view::npos ? 0 : before + 1;
  const std::size_t line_end = std::min(source.find('\n', where.begin), source.size());
  const std::size_t column = where.begin - line_begin;
  const auto line = 1 + std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(line_begin), '\n');
  std::size_t from = line_begin + (column > kShown / 2 && line_end - line_begin > kShown ? column - kShown / 2 : 0);
  while (from < where.begin && is_inside_character(source[from])) {
    ++from;
  }
  const std::string_view shown = source.substr(from, std::min(line_end - from, kShown));
  const std::string_view left = shown.substr(0, where.begin - from);
  const std::string_view marked = shown.substr(left.size(), where.end - std::min(where.begin, where.end));
  const std::size_t width = std::max<std::size_t>(columns_of(marked), 1);
  const std::size_t characters = count_characters(source.substr(line_begin, column));
  const auto at = static_cast<std::int64_t>(characters) + 1;
  const std::string place = concat("\n  at line ", line, ", column ", at);
  const std::string picture = shown.empty()
                                  ? ""
                                  : concat("\n  ", printable(shown), "\n  ", std::string(columns_of(left), ' '), '^',
                                           std::string(width - 1, '~'));
  throw ExpressionError(kind, concat("pattern: ", message, picture, place), line, at);
}

std::string describe(const Token& token) {
  constexpr std::size_t kLongest = 40;
  std::size_t cut = std::min(token.text.size(), kLongest);
  while (cut > 0 && cut < token.text.size() && is_inside_character(token.text[cut])) {
    --cut;
  }
  const std::string text = printable(token.text.substr(0, cut)) + (token.text.size() > kLongest ? "..." : "");
  switch (token.kind) {
    case TokenKind::kEnd:
      return "the end";
    case TokenKind::kInteger:
    case TokenKind::kReal:
      return "the number " + text;
    case TokenKind::kString:
      return "the string \"" + text + "\"";
    default:
      return "'" + text + "'";
  }
}

}  // namespace weft::pattern
