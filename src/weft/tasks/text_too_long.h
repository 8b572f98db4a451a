// SPDX-License-Identifier: Apache-2.0
// The error about a text that is longer than its model takes. Who answers requests tells it from other mistakes.
#pragma once

#include "weft/core/error.h"

namespace weft::tasks {

/// kArgument: the message has the text's tokens and the model's longest length.
class TextTooLong : public Error {
 public:
  TextTooLong(const std::string& message, std::string hint) : Error(ErrorKind::kArgument, message, std::move(hint)) {}
};

}  // namespace weft::tasks
