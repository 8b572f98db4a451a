// SPDX-License-Identifier: Apache-2.0
// Counts the pieces of work of this thread, and may end it.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "weft/core/work/pieces.h"

namespace weft::test {

/// Lets the work go on for `most` - 1 pieces; behind the next one nobody waits any more.
class PieceCounter final : public PieceWatcher {
 public:
  explicit PieceCounter(int most = std::numeric_limits<int>::max()) : left_(most) {}
  bool goes_on(std::int64_t tokens) noexcept override {
    tokens_.push_back(tokens);
    return --left_ > 0;
  }
  /// Of each piece until now.
  const std::vector<std::int64_t>& tokens() const { return tokens_; }

 private:
  int left_;
  std::vector<std::int64_t> tokens_;
};

}  // namespace weft::test
