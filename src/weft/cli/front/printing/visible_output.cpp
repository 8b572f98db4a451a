// SPDX-License-Identifier: Apache-2.0
// Runs of plain text go on as they are; only what a terminal would obey is written differently.
#include "weft/cli/front/printing/visible_output.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include <unistd.h>

#include "weft/core/one_line.h"
#include "weft/core/utf8_sequence.h"

namespace weft::cli {
namespace {

VisibleBuffer* filter_of(std::ostream& stream) { return dynamic_cast<VisibleBuffer*>(stream.rdbuf()); }

}  // namespace

VisibleBuffer::~VisibleBuffer() {
  if (!held_.empty()) {
    put(visible_text(held_));
  }
}

bool VisibleBuffer::put(std::string_view text) {
  const auto written = text.empty() ? 0 : to_->sputn(text.data(), static_cast<std::streamsize>(text.size()));
  return written == static_cast<std::streamsize>(text.size());
}

std::streamsize VisibleBuffer::xsputn(const char* text, std::streamsize bytes) {
  std::string joined;
  if (!held_.empty()) {  // asked first: threads that print whole characters change nothing here
    joined = std::exchange(held_, {});
  }
  const std::string_view given(text, static_cast<std::size_t>(bytes));
  std::string_view rest = joined.empty() ? given : std::string_view(joined.append(given));
  for (std::size_t tail = std::min<std::size_t>(rest.size(), 3); tail > 0 && held_.empty(); --tail) {
    if (is_utf8_start(rest.substr(rest.size() - tail))) {
      held_ = rest.substr(rest.size() - tail);
    }
  }
  rest.remove_suffix(held_.size());
  // Most of it is plain, and goes on as it is.
  const bool taken = put(plain_length(rest) == rest.size() ? rest : std::string_view(visible_text(rest)));
  return taken ? bytes : 0;
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
  const auto written = filter->behind()->sputn(text.data(), static_cast<std::streamsize>(text.size()));
  if (written != static_cast<std::streamsize>(text.size())) {
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
