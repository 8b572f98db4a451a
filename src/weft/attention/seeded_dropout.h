// SPDX-License-Identifier: Apache-2.0
// Dropout (Srivastava et al. 2014) whose mask is a pure function of a seed: nothing is kept for the backward pass, a
// recomputed layer sees the same mask, and on a CPU the mask does not depend on the number of threads.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "weft/core/random.h"

namespace weft::attention {

/// Zeroes each element with `probability` and scales the rest by 1 / (1 - probability). CPU: Philox on (seed, element
/// index), equal on every CPU; other devices: the device's generator under `seed`, equal on that device. Double
/// backward is an error.
at::Tensor seeded_dropout(const at::Tensor& x, double probability, const DropoutSeed& seed);

}  // namespace weft::attention
