// SPDX-License-Identifier: Apache-2.0
// The errors about a text that its model cannot take. Who answers requests, or goes over many records, tells them from
// other mistakes.
#pragma once

#include "weft/core/error.h"

namespace weft::tasks {

/// kArgument: the message names the text and says what does not fit, a question longer than a window, say.
class UnfitText : public Error {
 public:
  UnfitText(const std::string& message, std::string hint) : Error(ErrorKind::kArgument, message, std::move(hint)) {}
};

/// The message has the text's tokens and the model's longest length.
class TextTooLong : public UnfitText {
 public:
  using UnfitText::UnfitText;
};

}  // namespace weft::tasks
