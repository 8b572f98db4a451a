// SPDX-License-Identifier: Apache-2.0
// Variables that are unset, empty and set, and the four words for true.
#include "weft/core/environment.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Environment, UnsetEmptyAndSet) {
  ::unsetenv("WEFT_TEST_VARIABLE");
  EXPECT_FALSE(environment("WEFT_TEST_VARIABLE").has_value());
  EXPECT_FALSE(environment_is_true("WEFT_TEST_VARIABLE"));
  ::setenv("WEFT_TEST_VARIABLE", "", 1);
  EXPECT_EQ(environment("WEFT_TEST_VARIABLE"), "");
  EXPECT_FALSE(environment_is_true("WEFT_TEST_VARIABLE"));
  ::setenv("WEFT_TEST_VARIABLE", "on", 1);
  EXPECT_TRUE(environment_is_true("WEFT_TEST_VARIABLE"));
  ::unsetenv("WEFT_TEST_VARIABLE");
}

TEST(Environment, WordsForTrue) {
  for (const char* word : {"1", "ON", "on", "Yes", "TRUE", "true"}) {
    EXPECT_TRUE(is_true(word)) << word;
  }
  for (const char* word : {"", "0", "2", "off", "no", "false", "truee", "y", " 1"}) {
    EXPECT_FALSE(is_true(word)) << word;
  }
}

}  // namespace
}  // namespace weft
