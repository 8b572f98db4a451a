// SPDX-License-Identifier: Apache-2.0
// Rotary positions on a CPU, in one pass over memory.
#pragma once

#include "weft/attention/backends/backend.h"

namespace weft::attention {

Answer cpu_takes_rotation(const RotationCall& call);

void cpu_rotation(const RotationCall& call, const at::Tensor& output);

}  // namespace weft::attention
