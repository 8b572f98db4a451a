// SPDX-License-Identifier: Apache-2.0
// Error carries its kind, its hint and a joined message.
#include "weft/core/error.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace weft {
namespace {

TEST(Error, JoinsItsParts) {
  EXPECT_EQ(concat("head_dim must be ", 64, ", found ", 6.5), "head_dim must be 64, found 6.5");
}

TEST(Error, RequireThrowsOnlyWhenBroken) {
  require(true, "never seen");
  test::expect_error(ErrorKind::kArgument, {"width must be 3"}, [] { require(false, "width must be ", 3); });
}

TEST(Error, CarriesKindAndHint) {
  const Error error(ErrorKind::kUnsupported, "no", "try yes");
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(error.hint(), "try yes");
}

}  // namespace
}  // namespace weft
