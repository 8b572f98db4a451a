// SPDX-License-Identifier: Apache-2.0
// Arithmetic on ranges of positions: does a range lie inside, outside or across an interval or a periodic set, and
// which of up to 64 positions are in it, as the bits of a word. Every primitive is made of these.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace weft::pattern {

/// The answer for a range whose cells do not share one multiplicity, or may not.
inline constexpr int kMixed = -1;

/// Half-open; never empty where a node is asked about it.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  constexpr std::int64_t size() const noexcept { return end - begin; }
};

/// Sizes in an expression are at most this, so that a size plus a position never overflows.
inline constexpr std::int64_t kMaximumSize = std::int64_t{1} << 62;

/// All of key - query over two ranges: every value of the result occurs.
constexpr Range differences(const Range& query, const Range& key) noexcept {
  return {key.begin - (query.end - 1), key.end - query.begin};
}

/// min(a * b, kMaximumSize) for a, b >= 0.
constexpr std::int64_t saturating_product(std::int64_t a, std::int64_t b) noexcept {
  return (a != 0 && b > kMaximumSize / a) ? kMaximumSize : a * b;
}

constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) noexcept { return a / b + (a % b > 0 ? 1 : 0); }

constexpr std::int64_t floor_modulo(std::int64_t a, std::int64_t b) noexcept {
  const std::int64_t rest = a % b;
  return rest < 0 ? rest + b : rest;
}

constexpr std::uint64_t low_bits(std::int64_t count) noexcept {
  return count <= 0 ? 0 : (count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1);
}

/// Bit i says low <= first + i <= high, for i in [0, count), count <= 64.
constexpr std::uint64_t interval_bits(std::int64_t low, std::int64_t high, std::int64_t first, int count) noexcept {
  const std::int64_t from = std::max<std::int64_t>(low - first, 0);
  const std::int64_t to = std::min<std::int64_t>(high - first, count - 1);
  return from > to ? 0 : low_bits(to + 1) & ~low_bits(from);
}

/// 1 when the range lies inside [low, high], 0 when outside, else kMixed.
constexpr int interval_cover(const Range& range, std::int64_t low, std::int64_t high) noexcept {
  if (range.end <= low || range.begin > high) {
    return 0;
  }
  return range.begin >= low && range.end - 1 <= high ? 1 : kMixed;
}

/// The same for the union over all m of [start + m * period, start + m * period + length).
constexpr int periodic_cover(const Range& range, std::int64_t period, std::int64_t start,
                             std::int64_t length) noexcept {
  if (length >= period) {
    return 1;
  }
  const std::int64_t phase = floor_modulo(range.begin - start, period);
  if (phase < length) {
    return range.size() <= length - phase ? 1 : kMixed;
  }
  return range.size() <= period - phase ? 0 : kMixed;
}

/// The first position of the range in that union; its end where there is none.
constexpr std::int64_t periodic_first(const Range& range, std::int64_t period, std::int64_t start,
                                      std::int64_t length) noexcept {
  const std::int64_t phase = length >= period ? 0 : floor_modulo(range.begin - start, period);
  return phase < length ? range.begin : range.begin + std::min(period - phase, range.size());
}

/// Bit i says that first + i is in that union, for i in [0, count), count <= 64.
constexpr std::uint64_t periodic_bits(std::int64_t period, std::int64_t start, std::int64_t length, std::int64_t first,
                                      int count) noexcept {
  if (length >= period) {
    return low_bits(count);
  }
  std::uint64_t bits = 0;
  std::int64_t phase = floor_modulo(first - start, period);
  for (std::int64_t i = 0; i < count;) {
    if (phase < length) {
      const std::int64_t run = std::min<std::int64_t>(length - phase, count - i);
      bits |= low_bits(run) << i;
    }
    i += std::min<std::int64_t>(period - phase, count - i);
    phase = 0;
  }
  return bits;
}

}  // namespace weft::pattern
