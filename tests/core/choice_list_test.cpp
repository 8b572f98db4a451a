// SPDX-License-Identifier: Apache-2.0
// Choices as people read them: the one that stands for "not given" is not shown.
#include "weft/core/text/choice_list.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(ChoiceList, HasAllInTheirOrder) { EXPECT_EQ(choice_list({"cosine", "linear"}, ", "), "cosine, linear"); }

TEST(ChoiceList, LeavesTheEmptyOneOut) {
  EXPECT_EQ(choice_list({"", "lead", "random"}, "|"), "lead|random");
  EXPECT_EQ(choice_list({"lead", "", "random"}, "|"), "lead|random");
}

TEST(ChoiceList, MayHaveNothingToShow) {
  EXPECT_EQ(choice_list({}, "|"), "");
  EXPECT_EQ(choice_list({""}, "|"), "");
}

}  // namespace
}  // namespace weft
