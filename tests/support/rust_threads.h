// SPDX-License-Identifier: Apache-2.0
// Tests in which the tokenizers crate has threads of its own.
#pragma once

#include <gtest/gtest.h>

namespace weft::test {

/// The thread sanitizer does not see the locks of Rust's standard library, and takes what they guard for races.
#ifdef __SANITIZE_THREAD__
inline constexpr bool kRustThreadsLookRacy = true;
#else
inline constexpr bool kRustThreadsLookRacy = false;
#endif

/// Skips its tests under the thread sanitizer.
class RustThreads : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kRustThreadsLookRacy) {
      GTEST_SKIP() << "the thread sanitizer does not see Rust's locks";
    }
  }
};

}  // namespace weft::test
