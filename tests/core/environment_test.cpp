// SPDX-License-Identifier: Apache-2.0
// Variables that are unset, empty and set, and the four words for true.
#include "weft/core/environment.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/core/disk/scratch_file.h"

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

TEST(Environment, TemporaryFilesGoWhereTheUserSays) {
  const std::string before = environment("TMPDIR").value_or("");
  ::unsetenv("TMPDIR");
  EXPECT_EQ(temporary_directory(), "/tmp");
  ::setenv("TMPDIR", "/", 1);
  EXPECT_EQ(temporary_directory(), "/");
  for (const char* wrong : {"/none/here", "/dev/null", "/dev/null/x"}) {
    ::setenv("TMPDIR", wrong, 1);
    test::expect_error(ErrorKind::kIo, {wrong, "which TMPDIR names, is not there"}, [] { temporary_directory(); });
    test::expect_error(ErrorKind::kIo, {wrong, "TMPDIR"}, [] { scratch_file("text"); });
  }
  ::setenv("TMPDIR", "/proc", 1);  // where nobody makes a file
  test::expect_error(ErrorKind::kIo, {"/proc/.weft-text"}, [] { scratch_file("text"); });
  if (before.empty()) {
    ::unsetenv("TMPDIR");
  } else {
    ::setenv("TMPDIR", before.c_str(), 1);
  }
  const Descriptor file = scratch_file("text", "shown.txt");
  EXPECT_EQ(file.path(), "shown.txt");
  EXPECT_EQ(file.size(), 0U);
}

}  // namespace
}  // namespace weft
