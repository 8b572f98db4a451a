// SPDX-License-Identifier: Apache-2.0
// Passes over the elements of a tensor: dropout, and rotary positions. Each thread reads and writes its own numbers,
// and neighbours read neighbours, so that nothing is shared.
#pragma once

#include <cstdint>

#include "weft/core/random.h"
#include "weft/kernels/cuda/device_elements.h"
#include "weft/kernels/cuda/own_rows.h"
#include "weft/kernels/cuda/passes/grid.h"
#include "weft/kernels/dropout.h"
#include "weft/kernels/element_dropout.h"

namespace weft::kernels::cuda {

inline constexpr int kElementThreads = 256;

/// A draw a thread: eight elements, sixteen apart. Draws of neighbours serve neighbouring elements.
template <typename Format>
struct DropElements {
  using Call = ElementDropout;
  static constexpr int kThreads = kElementThreads;
  static Grid grid(const ElementDropout& call) {
    const std::int64_t draws = parts_of(call.count, kElementBlock) * ElementDraws::kDraws;
    return {parts_of(draws, kThreads), 1, 1};
  }
  static int shared_bytes(const ElementDropout&) { return 0; }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const ElementDropout& call, const Grid& at) {
    const std::int32_t threshold = half_threshold(call.probability);
    lanes.run([&](int thread) {
      const std::int64_t draw = at.x * kThreads + thread;
      const std::int64_t first = draw / ElementDraws::kDraws * kElementBlock + draw % ElementDraws::kDraws;
      const Philox4 drawn =
          philox_rounds<KeyDraws::kRounds>(call.seed.number, static_cast<std::uint64_t>(draw), std::uint64_t{0});
      unroll<8>([&](auto number) {
        const std::int64_t element = first + number * ElementDraws::kDraws;
        if (element < call.count) {
          const bool is_kept = half_of(drawn.value[number / 2], number % 2) >= threshold;
          const float kept = load_number<Format, Lanes>(call.input, element) * call.scale;
          store_number<Format, Lanes>(call.output, element, is_kept ? kept : 0.0F);
        }
      });
    });
  }
};

/// A pair a thread.
template <typename Format>
struct RotateElements {
  using Call = DeviceRotation;
  static constexpr int kThreads = kElementThreads;
  static Grid grid(const DeviceRotation& call) {
    return {parts_of(call.batch * call.heads * call.length * call.half, kThreads), 1, 1};
  }
  static int shared_bytes(const DeviceRotation&) { return 0; }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceRotation& call, const Grid& at) {
    lanes.run([&](int thread) {
      const std::int64_t pair = at.x * kThreads + thread;
      const std::int64_t row = pair / call.half;
      if (row >= call.batch * call.heads * call.length) {
        return;
      }
      const std::int64_t column = pair % call.half;
      const std::int64_t head = row / call.length;
      const std::int64_t from = row_place(call.input, head / call.heads, head % call.heads, row % call.length) + column;
      const std::int64_t to = row_place(call.output, head / call.heads, head % call.heads, row % call.length) + column;
      const float cosine = call.cosine[row % call.length * call.half + column];
      const float sine = call.sine[row % call.length * call.half + column] * (call.is_inverse ? -1.0F : 1.0F);
      const float first = load_number<Format, Lanes>(call.input.data, from);
      const float second = load_number<Format, Lanes>(call.input.data, from + call.half);
      store_number<Format, Lanes>(call.output.data, to, first * cosine - second * sine);
      store_number<Format, Lanes>(call.output.data, to + call.half, second * cosine + first * sine);
    });
  }
};

/// launcher.template launch<Pass>(call) runs all thread blocks of a pass.
template <typename Launcher>
void run_dropout(Launcher& launcher, const ElementDropout& call) {
  with_format(call.dtype, [&]<typename Format>(Format) { launcher.template launch<DropElements<Format>>(call); });
}

template <typename Launcher>
void run_rotation(Launcher& launcher, const DeviceRotation& call) {
  with_format(call.dtype, [&]<typename Format>(Format) { launcher.template launch<RotateElements<Format>>(call); });
}

}  // namespace weft::kernels::cuda
