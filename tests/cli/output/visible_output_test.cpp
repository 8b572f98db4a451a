// SPDX-License-Identifier: Apache-2.0
// What reaches the terminal: plain text as it is, and nothing that a terminal obeys, however it is cut into pieces.
#include "weft/cli/front/printing/visible_output.h"

#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace weft::cli {
namespace {

std::string shown(std::string_view text, std::size_t piece) {
  std::ostringstream behind;
  {
    VisibleBuffer buffer(behind.rdbuf());
    std::ostream stream(&buffer);
    for (std::size_t at = 0; at < text.size(); at += piece) {
      stream << text.substr(at, piece) << std::flush;
    }
    EXPECT_TRUE(stream.good());
  }
  return behind.str();
}

TEST(VisibleBuffer, NeutralisesWhatATerminalObeys) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"plain text\n\twith a tab\n", "plain text\n\twith a tab\n"},
      {"\u00e9 \u4e2d \U0001F600", "\u00e9 \u4e2d \U0001F600"},
      {"\x1b[31mred\x1b[0m", "\\u001b[31mred\\u001b[0m"},
      {"\x1b]0;title\x07", "\\u001b]0;title\\u0007"},
      {"a\rb\x7f\x08", "a\\u000db\\u007f\\u0008"},
      {"\xc2\x9b"
       "2J",
       "\\u009b2J"},  // the same sequence by one character
      {"\u2028x", "\\u2028x"},
      {std::string_view("\0x", 2), "\\u0000x"},
      {"\x9b"
       "2J \xff \xe4\xb8",
       "\xef\xbf\xbd"
       "2J \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd"},
      {"", ""},
  };
  for (const auto& [text, expected] : cases) {
    for (const std::size_t piece : {1, 2, 3, 100}) {
      EXPECT_EQ(shown(text, piece), expected) << "in pieces of " << piece;
    }
  }
}

TEST(VisibleBuffer, OneCharacterAtATime) {
  std::ostringstream behind;
  VisibleBuffer buffer(behind.rdbuf());
  std::ostream stream(&buffer);
  for (const char c : std::string_view("a\x1b\u00e9")) {
    stream.put(c);
  }
  EXPECT_EQ(behind.str(), "a\\u001b\u00e9");
}

}  // namespace
}  // namespace weft::cli
