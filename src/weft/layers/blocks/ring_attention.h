// SPDX-License-Identifier: Apache-2.0
// Attention of a Star-Transformer's satellites by the kernels of a CPU: see kernels/training/ring.h.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace weft::layers {

/// What satellites ask and see, all of one dtype; keys first, then values.
struct RingRows {
  at::Tensor queries;  ///< [B, N, H D]
  at::Tensor own;      ///< [B, N, 2 H D], of the satellites
  at::Tensor text;     ///< [B, N, 2 H D], of the embeddings
  at::Tensor relay;    ///< [B, 1, 2 H D]
  at::Tensor padding;  ///< bool [B, N], true where own rows count as zeros; or undefined
};

/// Whether ring_attention() takes these rows: float32 and bfloat16 in host memory, N >= 1, on a processor that has
/// kernels.
bool takes_ring(const RingRows& rows, std::int64_t heads);

/// [B, N, H D]: satellite i attends to own rows i - 1, i and i + 1, text row i and the relay; beyond the ends there are
/// keys and values of zeros. Scores are divided by sqrt(D). Sums are float32. Differentiable; a second derivative is an
/// error (kUnsupported). The call must be one that takes_ring() says yes to.
at::Tensor ring_attention(const RingRows& rows, std::int64_t heads);

}  // namespace weft::layers
