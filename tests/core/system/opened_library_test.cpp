// SPDX-License-Identifier: Apache-2.0
// A library that is there, one that is not, and a name that a library has not.
#include "weft/core/system/opened_library.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/core/error.h"

namespace weft {
namespace {

TEST(OpenedLibrary, FindsFunctionsAndSaysWhatIsMissing) {
  const OpenedLibrary numbers("libm.so.6", "cannot count", "install numbers");
  double (*root)(double) = nullptr;
  numbers.find("sqrt", root);
  EXPECT_EQ(root(9.0), 3.0);
  test::expect_error(ErrorKind::kUnsupported, {"cannot count: libm.so.6 does not load", "no_such_root"},
                     [&] { numbers.find("no_such_root", root); });
  test::expect_error(ErrorKind::kUnsupported, {"cannot draw: libnone.so.7 does not load", "No such file"},
                     [] { const OpenedLibrary none("libnone.so.7", "cannot draw", "install it"); });
  try {
    const OpenedLibrary none("libnone.so.7", "cannot draw", "install it");
  } catch (const Error& error) {
    EXPECT_EQ(error.hint(), "install it");
  }
}

}  // namespace
}  // namespace weft
