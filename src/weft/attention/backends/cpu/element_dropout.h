// SPDX-License-Identifier: Apache-2.0
// Dropout of elements on a CPU, whose mask depends neither on the number of threads nor on the instruction set.
#pragma once

#include "weft/attention/backends/backend.h"

namespace weft::attention {

Answer cpu_takes_dropout(const DropoutCall& call);

/// Philox on (seed, element index), equal on every CPU.
at::Tensor cpu_dropout(const DropoutCall& call);

}  // namespace weft::attention
