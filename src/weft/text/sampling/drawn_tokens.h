// SPDX-License-Identifier: Apache-2.0
// A text in other tokens, where the tokens went that it had before, and the random numbers that draw them: a sequence
// that its key alone decides.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/random.h"

namespace weft::text {

struct DrawnTokens {
  std::vector<std::int64_t> ids;
  /// Of each token given: the drawn tokens that hold its first and its last symbol.
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> last;

  /// A token that stays as it is.
  void append(std::int64_t id);
};

/// A token, and how many symbols (characters, bytes) it is made of.
struct SizedToken {
  std::int64_t id = 0;
  std::int64_t symbols = 0;
};

/// Appends a word: `drawn` stands for tokens of `given` symbols each, and both have as many symbols. Errors: kArgument
/// where nothing was drawn.
void append_word(DrawnTokens& tokens, std::span<const std::int64_t> given, std::span<const SizedToken> drawn);

class Draws {
 public:
  explicit Draws(std::uint64_t key) : key_(key) {}
  /// In [0, 1).
  double next() { return static_cast<double>(random_bits(key_, count_++) >> 11) * 0x1p-53; }

 private:
  std::uint64_t key_;
  std::uint64_t count_ = 0;
};

}  // namespace weft::text
