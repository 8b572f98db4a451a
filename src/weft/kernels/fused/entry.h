// SPDX-License-Identifier: Apache-2.0
// From a call to the body of its dtype: what a file of one instruction set compiles.
#pragma once

#include "weft/kernels/elements/gelu_pass.h"
#include "weft/kernels/elements/sums_pass.h"
#include "weft/kernels/fused.h"
#include "weft/kernels/fused/backward_pass.h"
#include "weft/kernels/fused/convolved_rows.h"
#include "weft/kernels/fused/element_draws.h"
#include "weft/kernels/fused/forward_pass.h"
#include "weft/kernels/fused/single_row.h"
#include "weft/kernels/loss/score_pass.h"
#include "weft/kernels/norm/norm_pass.h"
#include "weft/kernels/storage.h"

namespace weft::kernels {

template <class Isa, class Storage>
Status forward_with(const AttentionArguments& arguments, const ParallelFor& parallel) noexcept {
  if (takes_single_rows(arguments)) {
    forward_single_rows<Isa, Storage>(arguments, parallel);
    return Status::kOk;
  }
  return status_of(ForwardPass<Isa, Storage>(arguments, parallel).run());
}

template <class Isa>
Status run_fused_forward(const AttentionArguments& arguments, const ParallelFor& parallel) noexcept {
  switch (arguments.dtype) {
    case DType::kFloat32:
      return forward_with<Isa, PlainStorage<float>>(arguments, parallel);
    case DType::kBFloat16:
      return forward_with<Isa, BFloat16Storage>(arguments, parallel);
    case DType::kFloat16:
      return forward_with<Isa, Float16Storage>(arguments, parallel);
    default:
      return Status::kUnsupported;
  }
}

template <class Isa>
Status run_fused_backward(const AttentionArguments& arguments, const AttentionGradients& gradients,
                          const ParallelFor& parallel) noexcept {
  switch (arguments.dtype) {
    case DType::kFloat32:
      return status_of(BackwardPass<Isa, PlainStorage<float>>(arguments, gradients, parallel).run());
    case DType::kBFloat16:
      return status_of(BackwardPass<Isa, BFloat16Storage>(arguments, gradients, parallel).run());
    case DType::kFloat16:
      return status_of(BackwardPass<Isa, Float16Storage>(arguments, gradients, parallel).run());
    default:
      return Status::kUnsupported;
  }
}

}  // namespace weft::kernels
