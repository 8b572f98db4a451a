// SPDX-License-Identifier: Apache-2.0
// Runs of plain text go on as they are; only what a terminal would obey is written differently.
#include "weft/cli/printing/visible_output.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <utility>

#include <unistd.h>

#include "weft/core/utf8_sequence.h"

namespace weft::cli {
namespace {

constexpr std::string_view kUnreadable = "\xEF\xBF\xBD";

// Bytes of the plain text at the start of `text`: whole characters that a terminal shows, line ends and tabs.
std::size_t plain_length(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    const std::size_t length = (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\t' ? 1 : visible_length(text.substr(at));
    if (length == 0) {
      break;
    }
    at += length;
  }
  return at;
}

// A valid character of one to three bytes, all that is not visible, as JSON escapes it.
std::string escape(std::string_view character) {
  constexpr std::array<unsigned, 4> kLeadBits = {0, 0x7F, 0x1F, 0x0F};
  unsigned code = static_cast<unsigned char>(character[0]) & kLeadBits[std::min<std::size_t>(character.size(), 3)];
  for (const char c : character.substr(1)) {
    code = code << 6U | (static_cast<unsigned char>(c) & 0x3FU);
  }
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "\\u%04x", code);
  return text.data();
}

VisibleBuffer* filter_of(std::ostream& stream) { return dynamic_cast<VisibleBuffer*>(stream.rdbuf()); }

}  // namespace

VisibleBuffer::~VisibleBuffer() {
  if (!held_.empty()) {
    put(kUnreadable);
  }
}

bool VisibleBuffer::put(std::string_view text) {
  const auto bytes = static_cast<std::streamsize>(text.size());
  return text.empty() || to_->sputn(text.data(), bytes) == bytes;
}

std::streamsize VisibleBuffer::xsputn(const char* text, std::streamsize bytes) {
  std::string joined;
  if (!held_.empty()) {  // asked first: threads that print whole characters change nothing here
    joined = std::exchange(held_, {});
  }
  const std::string_view given(text, static_cast<std::size_t>(bytes));
  std::string_view rest = joined.empty() ? given : std::string_view(joined.append(given));
  while (!rest.empty()) {
    const std::size_t plain = plain_length(rest);
    if (!put(rest.substr(0, plain))) {
      return 0;
    }
    rest.remove_prefix(plain);
    if (rest.empty()) {
      break;
    }
    if (is_utf8_start(rest)) {
      held_ = rest;
      break;
    }
    const std::size_t length = utf8_sequence_length(rest);
    if (!put(length == 0 ? kUnreadable : escape(rest.substr(0, length)))) {
      return 0;
    }
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return bytes;
}

VisibleBuffer::int_type VisibleBuffer::overflow(int_type character) {
  if (traits_type::eq_int_type(character, traits_type::eof())) {
    return traits_type::not_eof(character);
  }
  const char one = traits_type::to_char_type(character);
  return xsputn(&one, 1) == 1 ? character : traits_type::eof();
}

int VisibleBuffer::sync() { return to_->pubsync(); }

VisibleOutput::VisibleOutput()
    : out_behind_(std::cout.rdbuf()), error_behind_(std::cerr.rdbuf()), out_(out_behind_), error_(error_behind_) {
  std::cout.rdbuf(&out_);
  std::cerr.rdbuf(&error_);
}

VisibleOutput::~VisibleOutput() {
  // Setting a buffer clears the state of a stream, which run() has asked before.
  std::cout.rdbuf(out_behind_);
  std::cerr.rdbuf(error_behind_);
}

void print_as_it_is(std::string_view text) {
  VisibleBuffer* const filter = filter_of(std::cout);
  if (filter == nullptr) {
    std::cout << text;
    return;
  }
  const auto bytes = static_cast<std::streamsize>(text.size());
  if (filter->behind()->sputn(text.data(), bytes) != bytes) {
    std::cout.setstate(std::ios::badbit);
  }
}

void print_text(std::string_view text) {
  if (isatty(STDOUT_FILENO) == 1) {
    std::cout << text;
  } else {
    print_as_it_is(text);
  }
}

}  // namespace weft::cli
