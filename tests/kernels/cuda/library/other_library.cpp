// SPDX-License-Identifier: Apache-2.0
// What a libweft_cuda.so of another Weft, or of other sources, says of itself: nobody may call anything else of it.
#include "weft/core/version.h"

extern "C" {

const char* weft_cuda_version() { return WEFT_OTHER_VERSION ? "0.0.9" : weft::kVersion.data(); }

unsigned long weft_cuda_call_bytes() { return 8; }
}
