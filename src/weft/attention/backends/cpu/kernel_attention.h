// SPDX-License-Identifier: Apache-2.0
// The bridge from LibTorch tensors to the kernels of kernels/, on LibTorch's threads, with any of their instruction
// sets.
#pragma once

#include "weft/attention/backends/answer.h"
#include "weft/attention/call.h"
#include "weft/kernels/fused.h"

namespace weft::attention {

/// Whether the fused kernels of this process take the call: CPU, float32, bfloat16 or float16, head_dim and value_dim
/// up to 256, tiles of at most 64 queries and exactly 64 keys, and not WEFT_ISA=scalar. They know every term.
Answer fused_takes(const Call& call);
/// Whether the plain kernel does: on a CPU.
Answer scalar_takes(const Call& call);

/// CPU only; key and value may hold anything where they are padded. Results lie in memory as query (key, value) do.
/// Errors: kArgument when the kernel does not accept the call, kUnsupported when there is no memory for its workspace.
Forward kernel_forward(const Call& call, kernels::InstructionSet isa);
Gradients kernel_backward(const Call& call, kernels::InstructionSet isa, const Forward& forward,
                          const at::Tensor& output_gradient);

}  // namespace weft::attention
