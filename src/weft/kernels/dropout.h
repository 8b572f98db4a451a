// SPDX-License-Identifier: Apache-2.0
// The dropout draw of one score: a pure function of (seed, batch, head, query, key), so that every tile, thread,
// instruction set and path drops the same entries and the backward pass draws them again instead of keeping them.
#pragma once

#include <cstdint>

#include "weft/core/random.h"
#include "weft/kernels/arguments.h"

namespace weft::kernels {

/// One query row of one head. Four neighbouring keys share a Philox draw: key k takes value[k % 4] of counter
/// (low = query << 32 | k / 4, high = batch << 32 | head) under key seed + offset * kOffsetStep.
class DropoutRow {
 public:
  static constexpr std::uint64_t kOffsetStep = 0x9E3779B97F4A7C15;

  DropoutRow(const Dropout& dropout, std::int64_t batch, std::int64_t head, std::int64_t query) noexcept
      : key_(dropout.seed + dropout.offset * kOffsetStep),
        low_(static_cast<std::uint64_t>(query) << 32),
        high_(static_cast<std::uint64_t>(batch) << 32 | static_cast<std::uint64_t>(head)),
        threshold_(static_cast<std::uint64_t>(static_cast<double>(dropout.probability) * 4294967296.0)),
        kept_scale_(1.0 / (1.0 - static_cast<double>(dropout.probability))) {}

  /// Whether the entry of `key` stays.
  bool keeps(std::int64_t key) noexcept {
    if (threshold_ == 0) {
      return true;
    }
    const std::int64_t four = key >> 2;
    if (four != drawn_) {
      drawn_ = four;
      draw_ = philox(key_, low_ | static_cast<std::uint64_t>(four), high_);
    }
    return draw_.value[key & 3] >= threshold_;
  }

  /// 0 for a dropped entry, 1 / (1 - probability) for a kept one.
  double multiplier(std::int64_t key) noexcept { return keeps(key) ? kept_scale_ : 0.0; }

 private:
  std::uint64_t key_;
  std::uint64_t low_;
  std::uint64_t high_;
  std::uint64_t threshold_;
  double kept_scale_;
  std::int64_t drawn_ = -1;
  Philox4 draw_{};
};

}  // namespace weft::kernels
