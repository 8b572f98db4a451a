// SPDX-License-Identifier: Apache-2.0
// Dropout of the elements of a tensor, drawn in vectors: what layers/dropout.h calls where a processor has kernels.
// Every instruction set, device and the plain loop drop the same elements.
#pragma once

#include <cstdint>

#include "weft/core/random.h"
#include "weft/kernels/fused.h"

namespace weft::kernels {

/// Elements in a block: sixteen draws of eight numbers.
inline constexpr std::int64_t kElementBlock = 128;

/// DropoutDraws::kSecond, for element i of a tensor: number i of the tensor lies in block i / 128, at place p = i %
/// 128, and takes half p / 16 % 2 of word p / 32 of the draw with counter 16 (i / 128) + p % 16, of seven rounds; it
/// stays where that is not below half_threshold(probability), as in kernels/dropout.h.
struct ElementDraws {
  static constexpr std::int64_t kDraws = 16;  ///< of a block

  static constexpr std::uint64_t draw_of(std::int64_t element) noexcept {
    return static_cast<std::uint64_t>(element / kElementBlock * kDraws + element % kDraws);
  }
  static constexpr int word_of(std::int64_t element) noexcept {
    return static_cast<int>(element % kElementBlock / (2 * kDraws));
  }
  static constexpr int half_of(std::int64_t element) noexcept { return static_cast<int>(element / kDraws % 2); }
};

/// What element `first + i` of a tensor becomes is written to `output[i]`: 0, or input[i] times `scale`, rounded once.
/// DropoutDraws::kFirst: element i takes word i % 4 of the draw of ten rounds with counter i / 4, and becomes 0 where
/// random_unit(word) < probability. DropoutDraws::kSecond: see ElementDraws.
struct ElementDropout {
  DType dtype = DType::kFloat32;
  const void* input = nullptr;
  void* output = nullptr;  ///< may be `input`
  std::int64_t count = 0;
  DropoutSeed seed;
  std::int64_t first = 0;  ///< a multiple of kElementBlock, with the first draws of 4
  float probability = 0;   ///< in [0, 1)
  float scale = 1;         ///< as the dtype holds it
};

/// Whether drop_elements takes numbers of `dtype` with this instruction set: float32 and bfloat16 with all but kScalar.
bool drops_elements(InstructionSet isa, DType dtype) noexcept;

/// One thread's share of a tensor. The call must be one that drops_elements says yes to.
void drop_elements(InstructionSet isa, const ElementDropout& call) noexcept;

}  // namespace weft::kernels
