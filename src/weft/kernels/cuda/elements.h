// SPDX-License-Identifier: Apache-2.0
// Passes over the elements of a tensor: dropout, and rotary positions. Each thread reads and writes its own numbers,
// and neighbours read neighbours, so that nothing is shared.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

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

/// Two numbers beside each other in a row: as one word where the call allows it, else the second one only if it is
/// there.
template <typename Format, typename Lanes>
struct NumberPair {
  using Bits = std::conditional_t<kIsHalf<Format>, std::uint32_t, std::uint64_t>;
  static constexpr int kBytes = static_cast<int>(sizeof(Bits));
  using Element = typename Format::Element;

  static WEFT_DEVICE NumberPair load(const void* array, std::int64_t at, bool is_word, bool has_second) {
    if (!is_word) {
      return {load_number<Format, Lanes>(array, at), has_second ? load_number<Format, Lanes>(array, at + 1) : 0.0F};
    }
    const Bits bits = *reinterpret_cast<const Bits*>(static_cast<const Element*>(array) + at);
    if constexpr (kIsHalf<Format>) {
      return {Lanes::template unpack<Format>(static_cast<std::uint16_t>(bits)),
              Lanes::template unpack<Format>(static_cast<std::uint16_t>(bits >> 16))};
    } else {
      return {std::bit_cast<float>(static_cast<std::uint32_t>(bits)),
              std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 32))};
    }
  }
  WEFT_DEVICE void store(void* array, std::int64_t at, bool is_word, bool has_second) const {
    if (!is_word) {
      store_number<Format, Lanes>(array, at, low);
      if (has_second) {
        store_number<Format, Lanes>(array, at + 1, high);
      }
      return;
    }
    auto* const to = reinterpret_cast<Bits*>(static_cast<Element*>(array) + at);
    if constexpr (kIsHalf<Format>) {
      *to = Lanes::template pack<Format>(low, high);
    } else {
      *to = std::bit_cast<std::uint32_t>(low) | Bits{std::bit_cast<std::uint32_t>(high)} << 32;
    }
  }

  float low;
  float high;
};

/// Two pairs a thread. Places within a head, and among heads, have 32 bits: with divisions of 64 this pass was bound by
/// arithmetic, 250 instructions a pair.
template <typename Format>
struct RotateElements {
  using Call = DeviceRotation;
  static constexpr int kThreads = kElementThreads;
  static constexpr Grid grid_of_heads(const DeviceRotation& call) {
    return {parts_of(call.length * twos(call), kThreads), call.batch * call.heads, 1};
  }
  static Grid grid(const DeviceRotation& call) { return {blocks_of(grid_of_heads(call)), 1, 1}; }
  static int shared_bytes(const DeviceRotation&) { return 0; }
  template <typename Lanes>
  static WEFT_DEVICE void block(Lanes& lanes, const DeviceRotation& call, const Grid& at) {
    const Grid of = block_of(grid_of_heads(call), at.x);
    const auto heads = static_cast<std::uint32_t>(call.heads);
    const std::uint32_t batch = static_cast<std::uint32_t>(of.y) / heads;
    const std::uint32_t head = static_cast<std::uint32_t>(of.y) - batch * heads;
    const bool is_word = has_words<Lanes>(call);
    lanes.run([&](int thread) {
      const auto in_row = static_cast<std::uint32_t>(twos(call));
      const std::uint32_t number = static_cast<std::uint32_t>(of.x) * kThreads + static_cast<std::uint32_t>(thread);
      const std::uint32_t row = number / in_row;
      if (row < call.length) {
        rotate<Lanes>(call, {batch, head, row}, 2 * (number - row * in_row), is_word);
      }
    });
  }

 private:
  /// Of a row.
  static constexpr std::int64_t twos(const DeviceRotation& call) { return (call.half + 1) / 2; }

  /// Whether two numbers beside each other, at an even column, are one word of every array.
  template <typename Lanes>
  static WEFT_DEVICE bool has_words(const DeviceRotation& call) {
    using Pair = NumberPair<Format, Lanes>;
    const auto address = [](const auto* array) { return reinterpret_cast<std::uintptr_t>(array); };
    const std::int64_t input = call.input.batch_stride | call.input.head_stride | call.input.row_stride;
    const std::int64_t output = call.output.batch_stride | call.output.head_stride | call.output.row_stride;
    const std::uintptr_t arrays = (address(call.input.data) | address(call.output.data)) % Pair::kBytes;
    const std::uintptr_t angles = (address(call.cosine) | address(call.sine)) % (2 * sizeof(float));
    return (arrays | angles) == 0 && (input | output | call.half) % 2 == 0;
  }

  template <typename Lanes>
  static WEFT_DEVICE void rotate(const DeviceRotation& call, const RowIndex& at, std::int64_t column, bool is_word) {
    using Pair = NumberPair<Format, Lanes>;
    using Angles = NumberPair<Float32Format, Lanes>;
    const bool has_second = column + 1 < call.half;
    const std::int64_t from = row_place(call.input, at.batch, at.head, at.row) + column;
    const std::int64_t to = row_place(call.output, at.batch, at.head, at.row) + column;
    const std::int64_t angle = at.row * call.half + column;
    const float sign = call.is_inverse ? -1.0F : 1.0F;
    const Angles cosine = Angles::load(call.cosine, angle, is_word, has_second);
    const Angles sine = Angles::load(call.sine, angle, is_word, has_second);
    const Pair first = Pair::load(call.input.data, from, is_word, has_second);
    const Pair second = Pair::load(call.input.data, from + call.half, is_word, has_second);
    const float low = sine.low * sign;
    const float high = sine.high * sign;
    Pair{first.low * cosine.low - second.low * low, first.high * cosine.high - second.high * high}.store(
        call.output.data, to, is_word, has_second);
    Pair{second.low * cosine.low + first.low * low, second.high * cosine.high + first.high * high}.store(
        call.output.data, to + call.half, is_word, has_second);
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
