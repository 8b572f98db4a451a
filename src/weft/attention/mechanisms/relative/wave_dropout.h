// SPDX-License-Identifier: Apache-2.0
// Dropout on the waves of distances, as Transformer-XL was released: its programs drop numbers of the table that all
// layers share.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace weft::attention {

/// `waves` [count, width] of the distances from `nearest` on, with each number zeroed with `probability`, below 1, and
/// the others divided by 1 - probability. Which ones is a function of (seed, distance, column) alone: all layers of a
/// call drop the same, and a call that is computed again drops it again, whatever other distances it needs.
at::Tensor dropped_waves(const at::Tensor& waves, std::int64_t nearest, double probability, std::uint64_t seed);

}  // namespace weft::attention
