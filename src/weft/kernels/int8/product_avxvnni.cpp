// SPDX-License-Identifier: Apache-2.0
// Products of int8 numbers in the instruction set that the file is named after.
#include "weft/kernels/int8/entry.h"
#include "weft/kernels/int8/instances.h"
#include "weft/kernels/int8/isa/avxvnni.h"

namespace weft::kernels {

constinit const Int8Kernels kAvxVnniInt8 = kInt8KernelsOf<AvxVnniCodes>;

}  // namespace weft::kernels
