// SPDX-License-Identifier: Apache-2.0
// Lists of nothing, one and several; an empty item is one, too.
#include "weft/core/joined.h"

#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Joined, Texts) {
  EXPECT_EQ(joined(std::vector<std::string>{}, ", "), "");
  EXPECT_EQ(joined(std::vector<std::string>{"one"}, ", "), "one");
  EXPECT_EQ(joined(std::vector<std::string_view>{"one", "", "three"}, " | "), "one |  | three");
  EXPECT_EQ(joined(std::vector<const char*>{"", "two"}, ", "), ", two");
}

TEST(Joined, OtherItems) {
  EXPECT_EQ(joined(std::vector<int>{1, 22}, " x ", [](int number) { return std::to_string(number); }), "1 x 22");
}

}  // namespace
}  // namespace weft
