// SPDX-License-Identifier: Apache-2.0
// What each instruction set's file offers to the dispatch in product.cpp.
#pragma once

#include "weft/kernels/int8/product.h"

namespace weft::kernels {

struct Int8Kernels {
  void (*multiply)(const Int8Product&, const ParallelFor&) noexcept;
  std::int64_t code_bytes;  ///< of a code of x
};

extern const Int8Kernels kGenericInt8;
extern const Int8Kernels kAvx2Int8;
extern const Int8Kernels kAvxVnniInt8;
extern const Int8Kernels kAvx512Int8;
extern const Int8Kernels kAvx512VnniInt8;

}  // namespace weft::kernels
