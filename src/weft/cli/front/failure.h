// SPDX-License-Identifier: Apache-2.0
// How the command line fails: `weft: error: ...`, perhaps a line `hint: ...`, and an exit code.
#pragma once

#include <exception>
#include <string>

#include "weft/core/system/usage_error.h"

namespace weft::cli {

/// Exit codes besides 0: an error that Weft knows, flags that cannot be meant, and Ctrl-C once state is saved (128 +
/// SIGINT, as shells count).
inline constexpr int kKnownError = 1;
inline constexpr int kMisuse = 2;
inline constexpr int kInterruptedExit = 130;

/// Prints what `failure` says to stderr and returns the exit code. That a person stopped the work is no error, and is
/// printed without that word.
int report(const std::exception& failure);

/// Prints `weft: error: message` and, unless empty, `hint: hint` to stderr.
void print_error(const std::string& message, const std::string& hint);

}  // namespace weft::cli
