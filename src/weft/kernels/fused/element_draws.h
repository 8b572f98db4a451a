// SPDX-License-Identifier: Apache-2.0
// Dropout of elements in the vectors of one instruction set: a block is a Philox draw a lane, which four elements
// share.
#pragma once

#include <cstdint>
#include <cstring>

#include "weft/kernels/element_dropout.h"
#include "weft/kernels/fused/scores/dropout_panel.h"

namespace weft::kernels {

template <class Isa, typename Number>
class ElementDraws {
 public:
  static constexpr int kLanes = Isa::kLanes;
  static constexpr int kBlock = 4 * kLanes;

  explicit ElementDraws(const ElementDropout& call) noexcept
      : call_(call), threshold_(least_kept(call.probability)), scale_(Isa::set(call.scale)) {}

  void run() const noexcept {
    const Number* input = static_cast<const Number*>(call_.input);
    Number* output = static_cast<Number*>(call_.output);
    std::int64_t first = 0;
    for (; first + kBlock <= call_.count; first += kBlock) {
      block(input + first, output + first, first / 4);
    }
    if (const std::int64_t rest = call_.count - first; rest > 0) {
      Number numbers[kBlock] = {};
      std::memcpy(numbers, input + first, static_cast<std::size_t>(rest) * sizeof(Number));
      block(numbers, numbers, first / 4);
      std::memcpy(output + first, numbers, static_cast<std::size_t>(rest) * sizeof(Number));
    }
  }

 private:
  // random_unit uses the upper 24 bits of a word: word / 256 * 2^-24 >= p where word >= ceil(p * 2^24) * 256.
  static std::uint32_t least_kept(float probability) noexcept {
    const double steps = static_cast<double>(probability) * 16777216.0;  // exact
    std::uint32_t whole = static_cast<std::uint32_t>(steps);
    whole += static_cast<double>(whole) < steps ? 1 : 0;
    return whole << 8;
  }

  void block(const Number* input, Number* output, std::int64_t group) const noexcept {
    LaneDraws<Isa> draws;
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t counter = call_.first_group + static_cast<std::uint64_t>(group + lane);
      draws.value[0][lane] = static_cast<std::uint32_t>(counter);
      draws.value[1][lane] = static_cast<std::uint32_t>(counter >> 32);
      draws.value[2][lane] = 0;
      draws.value[3][lane] = 0;
    }
    draws.run_rounds(call_.seed);
    alignas(64) std::uint32_t words[kBlock];
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int word = 0; word < 4; ++word) {
        words[4 * lane + word] = draws.value[word][lane];
      }
    }
    for (int first = 0; first < kBlock; first += kLanes) {
      const auto kept = Isa::at_least(words + first, threshold_);
      store(output + first, Isa::select(kept, Isa::multiply(load(input + first), scale_), Isa::zero()));
    }
  }

  static typename Isa::Vector load(const float* from) noexcept { return Isa::load(from); }
  static typename Isa::Vector load(const std::uint16_t* from) noexcept { return Isa::widen(from); }
  static void store(float* to, typename Isa::Vector value) noexcept { Isa::store(to, value); }
  static void store(std::uint16_t* to, typename Isa::Vector value) noexcept { Isa::narrow(to, value); }

  ElementDropout call_;
  std::uint32_t threshold_;
  typename Isa::Vector scale_;
};

template <class Isa>
void run_element_dropout(const ElementDropout& call) noexcept {
  if (call.dtype == DType::kBFloat16) {
    ElementDraws<Isa, std::uint16_t>(call).run();
  } else {
    ElementDraws<Isa, float>(call).run();
  }
}

}  // namespace weft::kernels
