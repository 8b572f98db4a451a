// SPDX-License-Identifier: Apache-2.0
// Products of int8 numbers in the instruction set that the file is named after.
#include "weft/kernels/int8/entry.h"
#include "weft/kernels/int8/instances.h"
#include "weft/kernels/int8/isa/avx512.h"

namespace weft::kernels {

constinit const Int8Kernels kAvx512Int8{run_int8_product<Avx512Codes>, sizeof(Avx512Codes::Code)};

}  // namespace weft::kernels
