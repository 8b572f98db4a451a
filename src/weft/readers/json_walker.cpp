// SPDX-License-Identifier: Apache-2.0
// Only brackets, strings and the ends of values are understood here: enough to cut a value out whole.
#include "weft/readers/json_walker.h"

#include <cstdint>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::readers {
namespace {

bool is_blank(int byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }

}  // namespace

JsonWalker::JsonWalker(ByteSource bytes, const ReadOptions& options, std::string format)
    : source_(std::move(bytes), options), format_(std::move(format)) {}

int JsonWalker::begin() {
  source_.begin_record();
  return next_visible();
}

void JsonWalker::enter(char bracket) {
  expect(bracket);
  fresh_ = true;
}

bool JsonWalker::more(char close) {
  source_.begin_record();
  const bool first = std::exchange(fresh_, false);
  if (next_visible() == close) {
    source_.get();
    return false;
  }
  if (!first) {
    expect(',');
    next_visible();
  }
  return true;
}

std::string JsonWalker::key() {
  const formats::Json name = value();
  if (!name.is_string()) {
    broken("expected a name in quotes");
  }
  expect(':');
  return name.get<std::string>();
}

formats::Json JsonWalker::value() { return formats::parse_json(raw_value(), source_.where()); }

std::string JsonWalker::raw_value() {
  std::string text;
  std::int64_t depth = 0;
  next_visible();
  do {
    const char byte = take("value");
    text.push_back(byte);
    if (byte == '"') {
      raw_string(text);
    }
    depth += byte == '{' || byte == '[' ? 1 : 0;
    depth -= byte == '}' || byte == ']' ? 1 : 0;
  } while (depth > 0 || (text.back() != '"' && !ends_value()));
  return text;
}

bool JsonWalker::at_end() { return next_visible() == TextSource::kEnd; }

void JsonWalker::broken(std::string_view what) const {
  fail(ErrorKind::kFormat, source_.where(), ": not ", format_, ": ", what, " (byte ", source_.offset(), ")");
}

int JsonWalker::next_visible() {
  while (is_blank(source_.peek())) {
    source_.get();
  }
  return source_.peek();
}

void JsonWalker::expect(char byte) {
  source_.begin_record();
  const int found = next_visible();
  if (found != byte) {
    broken(concat("expected '", byte, "', found ",
                  found == TextSource::kEnd ? "the end of the file" : quote(std::string(1, static_cast<char>(found)))));
  }
  source_.get();
}

// Behind the opening quote, with the closing one.
void JsonWalker::raw_string(std::string& text) {
  for (bool escaped = false, open = true; open;) {
    const char byte = take("string");
    text.push_back(byte);
    open = escaped || byte != '"';
    escaped = !escaped && byte == '\\';
  }
}

// Behind a number, a word or a closed bracket.
bool JsonWalker::ends_value() {
  const int byte = source_.peek();
  return is_blank(byte) || byte == ',' || byte == '}' || byte == ']' || byte == ':' || byte == TextSource::kEnd;
}

char JsonWalker::take(std::string_view inside) {
  const int byte = source_.get();
  if (byte == TextSource::kEnd) {
    broken(concat("the file ends within a ", inside));
  }
  return static_cast<char>(byte);
}

}  // namespace weft::readers
