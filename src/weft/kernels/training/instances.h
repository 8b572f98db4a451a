// SPDX-License-Identifier: Apache-2.0
// What each instruction set's file offers to the dispatch in passes.cpp.
#pragma once

#include "weft/kernels/training/ring.h"

namespace weft::kernels {

struct TrainingKernels {
  int lanes;  ///< float32 numbers of a vector
  void (*ring_forward)(const RingCall&, std::int64_t member, void* output) noexcept;
  void (*ring_backward)(const RingCall&, std::int64_t member, const RingGradients&) noexcept;
};

extern const TrainingKernels kGenericTraining;
extern const TrainingKernels kAvx2Training;
extern const TrainingKernels kAvx512Training;

}  // namespace weft::kernels
