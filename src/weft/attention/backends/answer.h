// SPDX-License-Identifier: Apache-2.0
// What a backend says when it is asked whether it takes a call. It costs nothing where the answer is yes, and no memory
// where it is no: a call may ask several backends.
#pragma once

namespace weft::attention {

/// Yes, or the reason why not: one line, a static string.
class Answer {
 public:
  static constexpr Answer yes() noexcept { return Answer(nullptr); }
  static constexpr Answer no(const char* reason) noexcept { return Answer(reason); }
  static constexpr Answer unless(bool obstacle, const char* reason) noexcept {
    return Answer(obstacle ? reason : nullptr);
  }

  constexpr bool is_yes() const noexcept { return reason_ == nullptr; }
  /// Null where it is yes.
  constexpr const char* reason() const noexcept { return reason_; }

 private:
  explicit constexpr Answer(const char* reason) noexcept : reason_(reason) {}

  const char* reason_;
};

}  // namespace weft::attention
