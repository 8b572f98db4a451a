// SPDX-License-Identifier: Apache-2.0
// A row of numbers as codes: scale max |x| / 127, nearest codes, ties to even.
#pragma once

#include <cstdint>

#include "weft/kernels/int8/product.h"
#include "weft/kernels/storage.h"

namespace weft::kernels {

template <class Isa, class Storage>
class CodedRow {
 public:
  using Vector = typename Isa::Vector;
  using Memory = typename Storage::Memory;
  using Code = typename Isa::Code;

  /// Writes padded_inputs(count) codes of x [count] and returns their scale. A row that holds NaN or infinity has the
  /// scale NaN and codes 0.
  static float write(const Memory* x, std::int64_t count, Code* codes) noexcept {
    Vector largest = Isa::zero();
    Vector wrong = Isa::zero();  // NaN in a lane that saw NaN or infinity: maximum() passes over the first
    for_lanes(x, count, [&](std::int64_t, Vector part) {
      largest = Isa::maximum(largest, Isa::maximum(Isa::subtract(Isa::zero(), part), part));
      wrong = Isa::add(wrong, Isa::multiply(part, Isa::zero()));
    });
    const float most = largest_lane(largest);
    const bool is_finite = sum_of_lanes(wrong) == 0.0F;
    // The inverse of less than 3.8e-37 would be infinite: such rows are held to coarser codes.
    constexpr float kLargest = 3.0e38F;
    const float inverse = most > 127.0F / kLargest ? 127.0F / most : kLargest;
    const Vector factor = Isa::set(is_finite ? inverse : 0.0F);
    Code tail[Isa::kLanes];
    for_lanes(x, count, [&](std::int64_t at, Vector part) {
      const Vector whole = is_finite ? Isa::nearest(Isa::multiply(part, factor)) : Isa::zero();
      if (at + Isa::kLanes <= count) {
        Isa::store_codes(codes + at, whole);
      } else {
        Isa::store_codes(tail, whole);  // behind `count` zeros
        for (std::int64_t i = at; i < padded_inputs(count); ++i) {
          codes[i] = tail[i - at];
        }
      }
    });
    return is_finite ? (most > 127.0F / kLargest ? most / 127.0F : 1.0F / kLargest) : __builtin_nanf("");
  }

 private:
  /// `work(place, lanes)` over the row; zeros behind its end.
  template <typename Work>
  [[gnu::always_inline]] static void for_lanes(const Memory* x, std::int64_t count, Work&& work) noexcept {
    std::int64_t at = 0;
    for (; at + Isa::kLanes <= count; at += Isa::kLanes) {
      work(at, Isa::widen(x + at));
    }
    if (at < count) {
      Memory rest[Isa::kLanes] = {};
      for (std::int64_t i = at; i < count; ++i) {
        rest[i - at] = x[i];
      }
      work(at, Isa::widen(rest));
    }
  }

  static float largest_lane(Vector lanes) noexcept {
    float each[Isa::kLanes];
    Isa::store(each, lanes);
    float largest = each[0];
    for (const float one : each) {
      largest = one > largest ? one : largest;
    }
    return largest;
  }
  static float sum_of_lanes(Vector lanes) noexcept {
    float each[Isa::kLanes];
    Isa::store(each, lanes);
    float sum = 0.0F;
    for (const float one : each) {
      sum += one;
    }
    return sum;
  }
};

}  // namespace weft::kernels
