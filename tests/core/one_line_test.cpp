// SPDX-License-Identifier: Apache-2.0
// Foreign messages: no control character reaches a terminal, and no message is endless.
#include "weft/core/one_line.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(OneLine, KeepsWhatATerminalDraws) {
  EXPECT_EQ(one_line("'run' is not an empty folder: 窓 é"), "'run' is not an empty folder: 窓 é");
  EXPECT_EQ(one_line(""), "");
}

TEST(OneLine, ControlCharactersBecomeQuestionMarks) {
  EXPECT_EQ(one_line("a\x1b[31mb\r\nc\tz\x7f"), "a?[31mb??c?z?");
  EXPECT_EQ(one_line("\xc2\x9b"
                     "31m"),
            "??31m");  // U+009B begins a sequence as the escape does
  EXPECT_EQ(one_line("\xff\xe7\xaa"), "???");
}

TEST(OneLine, IsBounded) {
  EXPECT_EQ(one_line("abcdef", 3), "abc...");
  EXPECT_EQ(one_line("ab窓", 4), "ab...");
  EXPECT_EQ(one_line("abc", 3), "abc");
}

TEST(VisibleText, KeepsLinesAndNothingThatATerminalObeys) {
  const std::string plain = "a line\n\twith a tab, 窓 é\n";
  EXPECT_EQ(visible_text(plain), plain);
  EXPECT_EQ(plain_length(plain), plain.size());
  EXPECT_EQ(visible_text("a\x1b[31m\r\x7f"), "a\\u001b[31m\\u000d\\u007f");
  EXPECT_EQ(plain_length("a\x1b["), 1U);
  EXPECT_EQ(visible_text("\xc2\x9b\xff"), "\\u009b\xef\xbf\xbd");
}

}  // namespace
}  // namespace weft
