// SPDX-License-Identifier: Apache-2.0
// EXPECT that a call throws weft::Error of one kind, on one line, with certain words in it.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "weft/core/error.h"

namespace weft::test {

/// The message of the Error that `call` throws; a test failure when it throws none, or one of another kind, or lacks
/// one of `words`.
inline std::string expect_error(ErrorKind kind, std::initializer_list<std::string_view> words,
                                const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(kind)) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << "more than one line: " << message;
    EXPECT_LT(message.size(), 2000U) << message;
    for (const std::string_view word : words) {
      EXPECT_NE(message.find(word), std::string::npos) << "'" << word << "' is not in: " << message;
    }
    return message;
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

}  // namespace weft::test
