// SPDX-License-Identifier: Apache-2.0
// Words without their case: what belongs to one, in several scripts, and the forms that it can be written in.
#include "weft/text/bare_words.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weft::text {
namespace {

std::vector<std::string> found(std::string_view text) {
  std::vector<std::string> words;
  for (const BareWord& word : bare_words(text)) {
    words.emplace_back(text.substr(word.begin, word.end - word.begin));
  }
  return words;
}

TEST(BareWords, AreLettersAndDigitsWithSingleJoints) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(found("it's a look-out, AT&T at 3.50 -- 'tis 10:30\n"),
            (Words{"it's", "a", "look-out", "AT&T", "at", "3.50", "tis", "10", "30"}));
  EXPECT_EQ(found("l\xE2\x80\x99\xC3\xA9t\xC3\xA9 \xD0\xBC\xD0\xB8\xD1\x80."),
            (Words{"l\xE2\x80\x99\xC3\xA9t\xC3\xA9", "\xD0\xBC\xD0\xB8\xD1\x80"}));
  EXPECT_EQ(found("a..b a- -b"), (Words{"a", "b", "a", "b"}));
  EXPECT_EQ(found("x\xFF"
                  "y \xE2\x82"),
            (Words{"x", "y"}));
  EXPECT_TRUE(found("").empty());
  EXPECT_TRUE(found(" \xE2\x80\xA6 ?!").empty());
}

TEST(BareWords, HaveTheFormsOfUnicode) {
  const auto words = bare_words(
      "\xC3\x89T\xC3\x89 2ND stra\xC3\x9F"
      "e 42");
  ASSERT_EQ(words.size(), 4U);
  EXPECT_EQ(words[0].lower, "\xC3\xA9t\xC3\xA9");
  EXPECT_EQ(words[0].title, "\xC3\x89t\xC3\xA9");
  EXPECT_EQ(words[1].title, "2Nd");
  EXPECT_EQ(words[2].upper, "STRASSE");
  EXPECT_EQ(words[3].title, "42");
}

}  // namespace
}  // namespace weft::text
