// SPDX-License-Identifier: Apache-2.0
// The choice of an instruction set.
#include "weft/kernels/training/instances.h"
#include "weft/kernels/training/ring.h"

namespace weft::kernels {
namespace {

// Products of pairs and tiles are of no use to these passes: processors that have them take vectors of AVX-512.
const TrainingKernels* training_kernels_of(InstructionSet isa) noexcept {
  switch (isa) {
    case InstructionSet::kGeneric:
      return &kGenericTraining;
#if defined(__x86_64__)
    case InstructionSet::kAvx2:
      return &kAvx2Training;
    case InstructionSet::kAvx512:
    case InstructionSet::kAvx512Bf16:
    case InstructionSet::kAmx:
      return &kAvx512Training;
#endif
    default:
      return nullptr;
  }
}

bool has_training_kernels(InstructionSet isa, DType dtype) noexcept {
  return training_kernels_of(isa) != nullptr && (dtype == DType::kFloat32 || dtype == DType::kBFloat16);
}

}  // namespace

bool takes_ring(InstructionSet isa, DType dtype, std::int64_t heads, std::int64_t head_dim) noexcept {
  if (!has_training_kernels(isa, dtype) || heads > kMostRingHeads || head_dim > kMostRingWidth) {
    return false;
  }
  const std::int64_t lanes = training_kernels_of(isa)->lanes;
  return heads * ((head_dim + lanes - 1) / lanes * lanes) <= kMostRingWidth;
}

void ring_forward(InstructionSet isa, const RingCall& call, std::int64_t member, void* output) noexcept {
  training_kernels_of(isa)->ring_forward(call, member, output);
}

void ring_backward(InstructionSet isa, const RingCall& call, std::int64_t member,
                   const RingGradients& gradients) noexcept {
  training_kernels_of(isa)->ring_backward(call, member, gradients);
}

}  // namespace weft::kernels
