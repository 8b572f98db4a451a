// SPDX-License-Identifier: Apache-2.0
// Options that cannot be meant, each by itself or together.
#pragma once

#include <string>
#include <utility>

#include "weft/core/error.h"

namespace weft {

/// What was asked for makes no sense, whatever the files hold: the command line ends with exit code 2.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message, std::string hint = {})
      : Error(ErrorKind::kArgument, message, std::move(hint)) {}
};

}  // namespace weft
