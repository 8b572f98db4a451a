// SPDX-License-Identifier: Apache-2.0
// Drives nlohmann's parser over bytes and keeps count of them.
#include "weft/formats/json_events.h"

#include <iterator>
#include <string>

#include "weft/core/quote.h"

namespace weft::formats {
namespace {

// Bytes for the parser; tells how far it has read, which its own interface keeps to itself.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* position, const char** reached) : position_(position), reached_(reached) {}
  reference operator*() const { return *position_; }
  CountingIterator& operator++() {
    *reached_ = ++position_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return position_ == other.position_; }
  bool operator!=(const CountingIterator& other) const { return position_ != other.position_; }

 private:
  const char* position_;
  const char** reached_;
};

constexpr std::size_t kLongestReason = 160;  // bytes: a number that is too large may have a million digits

// The reason out of nlohmann's message: neither its own name and position before it nor the text after it, which may be
// long.
std::string reason(std::string_view message) {
  const std::size_t name = message.find("] ");
  if (message.starts_with("[json.exception.") && name != std::string_view::npos) {
    message.remove_prefix(name + 2);
  }
  const std::size_t start = message.find(" - ");
  if (start != std::string_view::npos) {
    message.remove_prefix(start + 3);
  }
  message = message.substr(0, message.find("; last read"));
  return message.size() > kLongestReason ? concat(message.substr(0, kLongestReason), "...") : std::string(message);
}

}  // namespace

void JsonEvents::parse(std::string_view text, std::string_view where) {
  text_ = text;
  where_ = where;
  position_ = text.data();
  // The parser takes a NUL for the end of its input and would not look behind it.
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos) {
    fail(ErrorKind::kFormat, where, ": not valid JSON: a NUL byte (byte ", nul, ")");
  }
  const char* begin = text.data();
  const char* end = begin + text.size();
  Json::sax_parse(CountingIterator(begin, &position_), CountingIterator(end, &position_), this);
}

bool JsonEvents::binary(binary_t&) { reject("binary values are not JSON"); }

bool JsonEvents::parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) {
  reject("not valid JSON: ", reason(error.what()));
}

}  // namespace weft::formats
