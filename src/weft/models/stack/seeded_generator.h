// SPDX-License-Identifier: Apache-2.0
// Draws that a seed decides, in the middle of a program that draws on.
#pragma once

#include <cstdint>

#include <ATen/CPUGeneratorImpl.h>

namespace weft::models {

/// LibTorch's CPU generator with a seed, and as it was afterwards: mechanisms draw what they learn from it.
class SeededGenerator {
 public:
  explicit SeededGenerator(std::uint64_t seed) : state_(generator_.get_state()) { generator_.set_current_seed(seed); }
  ~SeededGenerator() { generator_.set_state(state_); }
  SeededGenerator(const SeededGenerator&) = delete;
  SeededGenerator& operator=(const SeededGenerator&) = delete;

 private:
  at::Generator generator_ = at::detail::getDefaultCPUGenerator();
  at::Tensor state_;
};

}  // namespace weft::models
