// SPDX-License-Identifier: Apache-2.0
// Positions and distances as sines and cosines of many wavelengths: what embeddings add to tokens, and what relative
// attention projects.
#pragma once

#include <ATen/core/Tensor.h>

namespace weft::attention {

/// PE(p, 2i) = sin(p / 10000^(2i / width)), PE(p, 2i + 1) = cos of the same (Vaswani et al. 2017, section 3.5),
/// [count, width] for p from `first` on, which may be below 0. `halves`: the sines of a row stand before its cosines
/// (Dai et al. 2019). An odd width leaves out the last cosine. Computed in float64 on a CPU, then made `options`.
at::Tensor sinusoidal_positions(std::int64_t first, std::int64_t count, std::int64_t width,
                                const at::TensorOptions& options, bool halves = false);

}  // namespace weft::attention
