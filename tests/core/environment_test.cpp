// SPDX-License-Identifier: Apache-2.0
// Variables that are unset, empty and set, and the four words for true.
#include "weft/core/environment.h"

#include <cstdlib>
#include <string>

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

TEST(Environment, TheCacheIsWhereTheUserPutsCaches) {
  const std::string home = environment("HOME").value_or("");
  const std::string shared = environment("XDG_CACHE_HOME").value_or("");
  const std::string own = environment("WEFT_CACHE").value_or("");
  ::unsetenv("WEFT_CACHE");
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", "/users/someone", 1);
  EXPECT_EQ(cache_directory(), "/users/someone/.cache/weft");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(cache_directory(), "/users/someone/.cache/weft");
  ::setenv("XDG_CACHE_HOME", "/caches", 1);
  EXPECT_EQ(cache_directory(), "/caches/weft");
  ::setenv("WEFT_CACHE", "/large/disk", 1);
  EXPECT_EQ(cache_directory(), "/large/disk");
  for (const char* name : {"WEFT_CACHE", "XDG_CACHE_HOME", "HOME"}) {
    ::unsetenv(name);
  }
  EXPECT_EQ(cache_directory(), std::nullopt);
  ::setenv("HOME", home.c_str(), 1);
  ::setenv("XDG_CACHE_HOME", shared.c_str(), 1);
  ::setenv("WEFT_CACHE", own.c_str(), 1);
}

}  // namespace
}  // namespace weft
