// SPDX-License-Identifier: Apache-2.0
// The CPU: the kernels of kernels/ for this processor, and what LibTorch has for processors alone.
#pragma once

#include "weft/attention/backends/backend.h"

namespace weft::attention {

extern const Backend kCpuBackend;

}  // namespace weft::attention
