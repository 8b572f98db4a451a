// SPDX-License-Identifier: Apache-2.0
// The dropout draw of one score: a pure function of (seed, batch, head, query, key), so that every tile, thread,
// instruction set, device and path drops the same entries and the backward pass draws them again instead of keeping
// them. Everything that computes attention draws by this header; no STL container here.
#pragma once

#include <cstdint>

#include "weft/core/random.h"
#include "weft/kernels/arguments.h"

namespace weft::kernels {

/// Added to the seed for each step of Dropout::offset.
inline constexpr std::uint64_t kDropoutOffsetStep = 0x9E3779B97F4A7C15;

/// The key of Philox for a call.
constexpr std::uint64_t dropout_key(const Dropout& dropout) noexcept {
  return dropout.seed.number + dropout.offset * kDropoutOffsetStep;
}

/// The numbers of 16 bits that DropoutDraws::kSecond compares with: they are signed, and an entry stays whose number is
/// not below half_threshold(probability). The probability is rounded to a multiple of 2^-16 that is neither 0 nor 1.
constexpr std::int32_t half_threshold(float probability) noexcept {
  const double steps = static_cast<double>(probability) * 65536.0;
  const double most = 65535.0;
  const double rounded = steps < 1.0 ? 1.0 : steps > most ? most : steps + 0.5;
  return static_cast<std::int32_t>(rounded) - 32768;
}

/// Half 0 (the lower 16 bits) or 1 of a word of a draw.
constexpr std::int32_t half_of(std::uint32_t word, int half) noexcept {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(word >> (16 * half)));
}

/// DropoutDraws::kSecond, for the scores of a query: four draws of eight numbers each serve 32 keys. Draw t of them
/// serves the keys 8 j + 2 t + h (j < 4, h < 2), by half h of word j: those that one thread of a GPU holds in the sums
/// of four products 8 keys wide, whether keys are its columns or its rows.
struct KeyDraws {
  static constexpr int kRounds = 7;
  static constexpr std::int64_t kKeys = 32;  ///< of four draws

  /// Counter: low = query << 32 | draw_of(key), high = batch << 32 | head.
  static constexpr std::int64_t draw_of(std::int64_t key) noexcept { return key / kKeys * 4 + key % 8 / 2; }
  static constexpr int word_of(std::int64_t key) noexcept { return static_cast<int>(key % kKeys / 8); }
  static constexpr int half_of(std::int64_t key) noexcept { return static_cast<int>(key % 2); }

  /// The draws of all keys of [begin, end) lie in [first_draw(begin), end_draw(end)).
  static constexpr std::int64_t first_draw(std::int64_t begin) noexcept { return begin / kKeys * 4; }
  static constexpr std::int64_t end_draw(std::int64_t end) noexcept { return (end + kKeys - 1) / kKeys * 4; }
  /// The key of half 0 of word 0; the others follow in steps of 8 and 1.
  static constexpr std::int64_t first_key(std::int64_t draw) noexcept { return draw / 4 * kKeys + draw % 4 * 2; }
};

/// One query row of one head.
///
/// DropoutDraws::kFirst: four neighbouring keys share a draw of ten rounds. Key k takes value[k % 4] of counter
/// (low = query << 32 | k / 4, high = batch << 32 | head), and stays where it is at least probability * 2^32.
/// DropoutDraws::kSecond: see KeyDraws.
class DropoutRow {
 public:
  DropoutRow(const Dropout& dropout, std::int64_t batch, std::int64_t head, std::int64_t query) noexcept
      : key_(dropout_key(dropout)),
        low_(static_cast<std::uint64_t>(query) << 32),
        high_(static_cast<std::uint64_t>(batch) << 32 | static_cast<std::uint64_t>(head)),
        draws_(dropout.seed.draws),
        is_on_(dropout.probability > 0.0F),
        word_threshold_(static_cast<std::uint32_t>(static_cast<double>(dropout.probability) * 4294967296.0)),
        half_threshold_(half_threshold(dropout.probability)),
        kept_scale_(1.0 / (1.0 - static_cast<double>(dropout.probability))) {}

  /// Whether the entry of `key` stays.
  bool keeps(std::int64_t key) noexcept {
    if (!is_on_) {
      return true;
    }
    return draws_ == DropoutDraws::kFirst ? keeps_by_word(key) : keeps_by_half(key);
  }

  /// 0 for a dropped entry, 1 / (1 - probability) for a kept one.
  double multiplier(std::int64_t key) noexcept { return keeps(key) ? kept_scale_ : 0.0; }

 private:
  bool keeps_by_word(std::int64_t key) noexcept {
    const std::int64_t four = key >> 2;
    if (four != drawn_) {
      drawn_ = four;
      draw_[0] = philox(key_, low_ | static_cast<std::uint64_t>(four), high_);
    }
    return draw_[0].value[key & 3] >= word_threshold_;
  }

  bool keeps_by_half(std::int64_t key) noexcept {
    const std::int64_t group = key / KeyDraws::kKeys;
    if (group != drawn_) {
      drawn_ = group;
      for (std::int64_t draw = 0; draw < 4; ++draw) {
        draw_[draw] =
            philox_rounds<KeyDraws::kRounds>(key_, low_ | static_cast<std::uint64_t>(4 * group + draw), high_);
      }
    }
    const std::uint32_t word = draw_[KeyDraws::draw_of(key) % 4].value[KeyDraws::word_of(key)];
    return half_of(word, KeyDraws::half_of(key)) >= half_threshold_;
  }

  std::uint64_t key_;
  std::uint64_t low_;
  std::uint64_t high_;
  DropoutDraws draws_;
  bool is_on_;
  std::uint32_t word_threshold_;
  std::int32_t half_threshold_;
  double kept_scale_;
  std::int64_t drawn_ = -1;
  Philox4 draw_[4] = {};
};

}  // namespace weft::kernels
