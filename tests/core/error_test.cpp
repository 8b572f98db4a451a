// SPDX-License-Identifier: Apache-2.0
// Error carries its kind, its hint and a joined message.
#include "weft/core/error.h"

#include <gtest/gtest.h>

#include <ostream>

#include "support/expect_error.h"
#include "weft/core/quote.h"

namespace weft {
namespace {

/// Counts how often it is printed.
struct Counted {
  int& times;
  friend std::ostream& operator<<(std::ostream& stream, const Counted& counted) { return stream << ++counted.times; }
};

TEST(Error, JoinsItsParts) {
  EXPECT_EQ(concat("head_dim must be ", 64, ", found ", 6.5), "head_dim must be 64, found 6.5");
}

TEST(Error, RequireThrowsOnlyWhenBroken) {
  require(true, "never seen");
  test::expect_error(ErrorKind::kArgument, {"width must be 3"}, [] { require(false, "width must be ", 3); });
}

TEST(Error, NothingIsPrintedWhereARuleHolds) {
  int printed = 0;
  int made = 0;
  const auto made_late = [&] { return concat("part ", ++made); };
  for (int i = 0; i < 1000; ++i) {
    require(true, Counted{printed}, made_late);
  }
  EXPECT_EQ(printed, 0);
  EXPECT_EQ(made, 0);
  test::expect_error(ErrorKind::kArgument, {"1 of part 1"},
                     [&] { require(false, Counted{printed}, " of ", made_late); });
  test::expect_error(ErrorKind::kArgument, {"found 'it\\'s'"}, [] { require(false, "found ", Quoted("it's")); });
}

TEST(Error, CarriesKindAndHint) {
  const Error error(ErrorKind::kUnsupported, "no", "try yes");
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(error.hint(), "try yes");
}

}  // namespace
}  // namespace weft
