// SPDX-License-Identifier: Apache-2.0
// Every kernel that this machine runs: one an instruction set, the AMX one on emulated tiles, and those for CUDA on
// emulated lanes.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "kernels/cuda/emulated_call.h"
#include "kernels/emulated_tiles.h"
#include "kernels/kernel_case.h"
#include "weft/kernels/fused.h"

namespace weft::test {

struct KernelVariant {
  std::string name;
  kernels::InstructionSet isa;                 ///< that the machine must have
  const kernels::FusedKernels* own = nullptr;  ///< in place of those of `isa`

  bool knows_relative = true;  ///< whether it has a relative product

  bool is_slow = false;  ///< whether it has the calls with little work only

  bool is_of_halves = false;  ///< whether it differs from another one in 16-bit numbers only

  /// Whether a call is for it: a slow kernel has those with little work.
  template <typename Case>
  bool runs(const Case& call) const {
    const Shape& shape = call.shape;
    const std::int64_t slices = (shape.head_dim + shape.value_dim + 63) / 64;
    const std::int64_t blocks = call.layout.query_blocks() * call.layout.key_blocks();
    if (is_of_halves && call.dtype != kernels::DType::kBFloat16 && call.dtype != kernels::DType::kFloat16) {
      return false;
    }
    return !is_slow || shape.batch * shape.heads * blocks * slices <= (WEFT_SANITIZED ? 10 : 40);
  }
  bool is_plain() const { return isa == kernels::InstructionSet::kScalar; }
  template <typename Case>
  void use_for(Case& call) const {
    call.isa = isa;
    call.own = own;
    call.knows_relative = knows_relative;
    call.relative_span = knows_relative ? call.relative_span : 0;
  }
  friend std::ostream& operator<<(std::ostream& out, const KernelVariant& variant) { return out << variant.name; }
};

/// All of them, whether the machine has them or not.
inline std::vector<KernelVariant> kernel_variants() {
  std::vector<KernelVariant> variants;
  for (const kernels::InstructionSet isa : kernels::kInstructionSets) {
    variants.push_back({kernels::to_string(isa), isa});
  }
#if defined(__x86_64__)
  variants.push_back({"amx_emulated", kernels::InstructionSet::kAvx512Bf16, &kEmulatedAmxKernels});
#endif
  variants.push_back({"cuda_emulated", kernels::InstructionSet::kGeneric, &kEmulatedCudaKernels, false, true});
  variants.push_back(
      {"cuda_emulated_hopper", kernels::InstructionSet::kGeneric, &kEmulatedHopperKernels, false, true, true});
  return variants;
}

}  // namespace weft::test
