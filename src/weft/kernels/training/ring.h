// SPDX-License-Identifier: Apache-2.0
// Attention of a Star-Transformer's satellites in one pass over memory, forwards and backwards: five keys a query are
// too few for products of matrices, and operators over whole tensors go over all of them some forty times.
#pragma once

#include <cstdint>

#include "weft/kernels/fused.h"

namespace weft::kernels {

/// The widest row, with each head's columns padded to whole vectors: a thread has some twenty of them on its stack.
inline constexpr std::int64_t kMostRingWidth = 1024;
inline constexpr std::int64_t kMostRingHeads = 64;

/// Satellite i attends to own rows i - 1, i and i + 1, to text row i and to the relay; before the first row and behind
/// the last one there are a key and a value of zeros. Scores are divided by sqrt(head_dim). Sums are float32.
struct RingCall {
  DType dtype = DType::kFloat32;  ///< of all rows, which are contiguous; keys lie before values
  const void* queries = nullptr;  ///< [batch, length, heads * head_dim]
  const void* own = nullptr;      ///< [batch, length, 2 * heads * head_dim], of the satellites
  const void* text = nullptr;     ///< [batch, length, 2 * heads * head_dim], of the embeddings
  const void* relay = nullptr;    ///< [batch, 2 * heads * head_dim]
  const bool* hidden = nullptr;   ///< [batch, length], true where an own row counts as zeros; or null
  std::int64_t length = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
};

/// What the backward pass reads beside the call, and where the gradients of its rows go, in their shapes. That of a
/// hidden row is zeros.
struct RingGradients {
  const void* output = nullptr;  ///< [batch, length, heads * head_dim], of what the forward pass wrote
  void* queries = nullptr;
  void* own = nullptr;
  void* text = nullptr;
  void* relay = nullptr;
};

/// Whether the passes take such a call: float32 and bfloat16 with all instruction sets but kScalar, up to
/// kMostRingHeads heads and kMostRingWidth columns.
bool takes_ring(InstructionSet isa, DType dtype, std::int64_t heads, std::int64_t head_dim) noexcept;

/// One member of the batch. The call must be one that takes_ring says yes to; likewise ring_backward().
void ring_forward(InstructionSet isa, const RingCall& call, std::int64_t member, void* output) noexcept;
void ring_backward(InstructionSet isa, const RingCall& call, std::int64_t member,
                   const RingGradients& gradients) noexcept;

}  // namespace weft::kernels
