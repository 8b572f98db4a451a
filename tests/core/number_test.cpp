// SPDX-License-Identifier: Apache-2.0
// A word is a number from its first letter to its last, or none.
#include "weft/core/number.h"
#include "weft/core/text/number_text.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Integer, TheWholeWordIsTheNumber) {
  EXPECT_EQ(integer_of("0"), 0);
  EXPECT_EQ(integer_of("007"), 7);
  EXPECT_EQ(integer_of("-3"), -3);
  EXPECT_EQ(integer_of("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
}

TEST(Integer, AnythingElseIsNone) {
  for (const char* word : {"", "-", "+1", " 1", "1 ", "1.0", "0x10", "1e3", "9223372036854775808", "one"}) {
    EXPECT_EQ(integer_of(word), std::nullopt) << "'" << word << "'";
  }
  EXPECT_EQ(integer_of(std::string_view("1\0", 2)), std::nullopt);
}

TEST(Real, TheWholeWordIsTheNumber) {
  EXPECT_EQ(real_of("0.5"), 0.5);
  EXPECT_EQ(real_of("-2"), -2.0);
  EXPECT_EQ(real_of("1e-3"), 1e-3);
  EXPECT_EQ(real_of("inf"), std::numeric_limits<double>::infinity());
  for (const char* word : {"", ".", "+1", " 1", "1 ", "0x10", "1e999", "1,5", "one"}) {
    EXPECT_EQ(real_of(word), std::nullopt) << "'" << word << "'";
  }
}

TEST(NumberText, GroupsDigits) {
  EXPECT_EQ(digits(0), "0");
  EXPECT_EQ(digits(999), "999");
  EXPECT_EQ(digits(1000), "1,000");
  EXPECT_EQ(digits(1234567), "1,234,567");
  EXPECT_EQ(digits(-123456), "-123,456");
}

}  // namespace
}  // namespace weft
