// SPDX-License-Identifier: Apache-2.0
// What each instruction set's file offers to the dispatch in product.cpp.
#pragma once

#include "weft/kernels/int8/product.h"

namespace weft::kernels {

struct Int8Kernels {
  void (*multiply)(const Int8Product&, const ParallelFor&) noexcept;
  std::int64_t code_bytes;  ///< of a code of x
  std::int64_t rows;        ///< the workspace has room for a multiple of so many
};

extern const Int8Kernels kGenericInt8;
extern const Int8Kernels kAvx2Int8;
extern const Int8Kernels kAvxVnniInt8;
extern const Int8Kernels kAvx512Int8;
extern const Int8Kernels kAvx512VnniInt8;
/// AMX with INT8. It gives the bits of AVX-512 VNNI, whose place it takes where the process uses tiles.
extern const Int8Kernels kAmxInt8;

}  // namespace weft::kernels
