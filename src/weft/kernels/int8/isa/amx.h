// SPDX-License-Identifier: Apache-2.0
// AMX with INT8 on top of AVX-512 VNNI: codes lie as there, and tiles multiply 64 of them by 16 rows and 16 outputs.
// The tiles are a parameter, as in isa/amx.h.
#pragma once

#include "weft/kernels/int8/isa/avx512vnni.h"
#include "weft/kernels/isa/tiles.h"

namespace weft::kernels {

template <class Instructions>
struct AmxCodesOn : Avx512VnniCodes {
  using Tiles = Instructions;
};

struct AmxCodes : AmxCodesOn<HardwareTiles> {};

}  // namespace weft::kernels
