// SPDX-License-Identifier: Apache-2.0
// An option is named as whoever calls knows it.
#include "weft/core/system/option_name.h"

#include <gtest/gtest.h>

#include "weft/core/error.h"

namespace weft {
namespace {

TEST(OptionName, IsTheFieldOfALibraryAndTheFlagOfACommand) {
  EXPECT_EQ(concat("name one with ", option("target_lang")), "name one with target_lang");
  // In a process of its own: the command line speaks in flags from its beginning to its end.
  EXPECT_EXIT(
      {
        name_options_as_flags();
        std::exit(concat(option("target_lang"), " de") == "--target-lang de" ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft
