// SPDX-License-Identifier: Apache-2.0
// The door to standard output and standard error: text that comes out of models and data (labels, tokens, answers) can
// hold escape sequences, with which a file of other people would steer the reader's terminal.
#pragma once

#include <ios>
#include <streambuf>
#include <string>
#include <string_view>

namespace weft::cli {

/// Hands on what is printed, with control characters but line ends and tabs as \u001b, and with what is no UTF-8 as
/// U+FFFD. JSON stays JSON: control characters stand only in its strings, where \u001b means the same.
class VisibleBuffer : public std::streambuf {
 public:
  explicit VisibleBuffer(std::streambuf* to) : to_(to) {}
  ~VisibleBuffer() override;
  VisibleBuffer(const VisibleBuffer&) = delete;
  VisibleBuffer& operator=(const VisibleBuffer&) = delete;

  /// The buffer behind this one, for bytes that must arrive as they are.
  std::streambuf* behind() const noexcept { return to_; }

 protected:
  int_type overflow(int_type character) override;
  std::streamsize xsputn(const char* text, std::streamsize bytes) override;
  int sync() override;

 private:
  bool put(std::string_view text);
  std::streambuf* to_;
  std::string held_;  // the begin of a character whose end comes with the next call
};

/// While it lives, std::cout and std::cerr go through a VisibleBuffer each.
class VisibleOutput {
 public:
  VisibleOutput();
  ~VisibleOutput();
  VisibleOutput(const VisibleOutput&) = delete;
  VisibleOutput& operator=(const VisibleOutput&) = delete;

 private:
  std::streambuf* out_behind_;
  std::streambuf* error_behind_;
  VisibleBuffer out_;
  VisibleBuffer error_;
};

/// Prints the program's own escape sequences, such as the colours of a picture, to std::cout.
void print_as_it_is(std::string_view text);

/// Prints a text that is itself what was asked for (generated, translated, decoded) to std::cout: byte by byte as it
/// is, but through the VisibleBuffer where stdout is a terminal.
void print_text(std::string_view text);

}  // namespace weft::cli
