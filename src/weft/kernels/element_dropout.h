// SPDX-License-Identifier: Apache-2.0
// Dropout of the elements of a tensor, drawn in vectors: what layers/dropout.h calls where a processor has kernels. The
// draws are those of core/random.h, so that every instruction set and the plain loop drop the same elements.
#pragma once

#include <cstdint>

#include "weft/kernels/fused.h"

namespace weft::kernels {

/// Element i of `input` [count] takes word i % 4 of the Philox draw with counter first_group + i / 4 under `seed`.
/// Where random_unit(word) < probability it becomes 0, else it is multiplied by `scale`; a product is rounded once.
struct ElementDropout {
  DType dtype = DType::kFloat32;
  const void* input = nullptr;
  void* output = nullptr;  ///< may be `input`
  std::int64_t count = 0;
  std::uint64_t seed = 0;
  std::uint64_t first_group = 0;
  float probability = 0;  ///< in [0, 1)
  float scale = 1;        ///< as the dtype holds it
};

/// Whether drop_elements takes numbers of `dtype` with this instruction set: float32 and bfloat16 with all but kScalar.
bool drops_elements(InstructionSet isa, DType dtype) noexcept;

/// One thread's share of a tensor. The call must be one that drops_elements says yes to.
void drop_elements(InstructionSet isa, const ElementDropout& call) noexcept;

}  // namespace weft::kernels
