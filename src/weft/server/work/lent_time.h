// SPDX-License-Identifier: Apache-2.0
// The time that long work lends to shorter work between its pieces: as much as it has had itself, so that neither holds
// up the other.
#pragma once

namespace weft::server {

class LentTime {
 public:
  /// The long work went on for `seconds`.
  void worked(double seconds) noexcept { own_ += seconds; }
  /// Shorter work was computed in between for `seconds`.
  void lent(double seconds) noexcept { lent_ += seconds; }
  /// Whether shorter work may be computed now.
  bool may_lend() const noexcept { return lent_ <= own_ + kAhead; }

 private:
  static constexpr double kAhead = 0.1;  // seconds, so that what is short need not wait for its turn at first
  double own_ = 0;
  double lent_ = 0;
};

}  // namespace weft::server
