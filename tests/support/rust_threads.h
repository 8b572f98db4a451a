// SPDX-License-Identifier: Apache-2.0
// Tests in which the tokenizers crate has threads of its own.
#pragma once

#include <gtest/gtest.h>

// There under the thread sanitizer only. NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" [[gnu::weak]] void __tsan_init();

namespace weft::test {

/// Skips its tests under the thread sanitizer: it does not see the locks of Rust's standard library, and takes what
/// they guard for races.
class RustThreads : public ::testing::Test {
 protected:
  void SetUp() override {
    if (&__tsan_init != nullptr) {
      GTEST_SKIP() << "the thread sanitizer does not see Rust's locks";
    }
  }
};

}  // namespace weft::test
