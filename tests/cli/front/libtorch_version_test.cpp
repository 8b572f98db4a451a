// SPDX-License-Identifier: Apache-2.0
// Which LibTorch the program takes: one of the minor version that libweft was compiled for.
#include "weft/cli/front/libtorch_version.h"

#include <gtest/gtest.h>

#include <string>

#include "weft/core/error.h"

namespace weft::cli {
namespace {

TEST(LibtorchVersion, APatchIsTakenAndAnotherMinorIsNamed) {
  check_libtorch_version(0x020f000000000000, "LibTorch 2.15.0");
  check_libtorch_version(0x020f010000000000, "LibTorch 2.15.0");
  try {
    check_libtorch_version(0x020e010000000000, "LibTorch 2.15.0");
    FAIL() << "a LibTorch of another minor version was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
    EXPECT_STREQ(error.what(), "libweft was compiled for LibTorch 2.15, but the one that was opened is 2.14");
    EXPECT_NE(error.hint().find("torch==2.15.*"), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::cli
