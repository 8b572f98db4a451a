// SPDX-License-Identifier: Apache-2.0
// LibTorch's operators: every device and dtype, and every kind of call. It is asked last, and no other backend is
// needed; its results are what others are compared with.
#pragma once

#include "weft/attention/backends/backend.h"

namespace weft::attention {

extern const Backend kPortableBackend;

}  // namespace weft::attention
