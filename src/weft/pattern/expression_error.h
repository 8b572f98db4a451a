// SPDX-License-Identifier: Apache-2.0
// What is wrong with an expression, and where in its text.
#pragma once

#include <cstdint>
#include <string>

#include "weft/core/error.h"

namespace weft::pattern {

/// Its message shows the line with a caret under the place. Lines and columns count from 1, columns in characters.
class ExpressionError : public Error {
 public:
  ExpressionError(ErrorKind kind, const std::string& message, std::int64_t line, std::int64_t column)
      : Error(kind, message), line_(line), column_(column) {}
  std::int64_t line() const noexcept { return line_; }
  std::int64_t column() const noexcept { return column_; }

 private:
  std::int64_t line_;
  std::int64_t column_;
};

}  // namespace weft::pattern
