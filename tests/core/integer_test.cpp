// SPDX-License-Identifier: Apache-2.0
// A word is an integer from its first letter to its last, or none.
#include "weft/core/integer.h"

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

}  // namespace
}  // namespace weft
