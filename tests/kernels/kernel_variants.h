// SPDX-License-Identifier: Apache-2.0
// Every kernel that this machine runs: one an instruction set, and the AMX one on emulated tiles.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "kernels/emulated_tiles.h"
#include "weft/kernels/fused.h"

namespace weft::test {

struct KernelVariant {
  std::string name;
  kernels::InstructionSet isa;                 ///< that the machine must have
  const kernels::FusedKernels* own = nullptr;  ///< in place of those of `isa`

  bool is_plain() const { return isa == kernels::InstructionSet::kScalar; }
  template <typename Case>
  void use_for(Case& call) const {
    call.isa = isa;
    call.own = own;
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
  return variants;
}

}  // namespace weft::test
