// SPDX-License-Identifier: Apache-2.0
// Labels of a restorer.
#include "weft/tasks/restore.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace weft::tasks {
namespace {

using test::expect_error;

TEST(WordForm, IsReadFromALabel) {
  EXPECT_EQ(parse_word_form("O").mark, 0);
  EXPECT_EQ(parse_word_form("S-Title").letters, WordForm::Case::kTitle);
  EXPECT_EQ(parse_word_form("S-UPPER?").letters, WordForm::Case::kUpper);
  EXPECT_EQ(parse_word_form("S-UPPER?").mark, '?');
  EXPECT_EQ(parse_word_form("S-,").mark, ',');
  EXPECT_EQ(parse_word_form("S-,").letters, WordForm::Case::kLower);
  for (const char* label : {"", "S-", "Title", "B-PER", "S-Title,,", "S-lower", "S--", "O,"}) {
    expect_error(ErrorKind::kArgument, {"a label must be"}, [&] { parse_word_form(label); });
  }
}

}  // namespace
}  // namespace weft::tasks
