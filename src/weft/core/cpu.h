// SPDX-License-Identifier: Apache-2.0
// What the processor can do, asked once. Nothing here is a promise of speed on other machines.
#pragma once

#include <string>

namespace weft {

/// Instruction sets that kernels are compiled for; each flag stands for all of its subsets.
struct CpuFeatures {
  bool avx2 = false;      ///< AVX2, FMA and F16C
  bool avx512 = false;    ///< AVX-512 F, BW, VL, DQ
  bool avx_vnni = false;  ///< AVX2, and products of bytes in its vectors
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool amx_bf16 = false;
  /// AVX-512 BF16 that multiplies more numbers a second than float32 does: AMD's. Intel's has half the rate.
  bool wide_bf16 = false;
};

/// The features of this processor, as the kernel of the operating system allows them.
const CpuFeatures& cpu_features() noexcept;

/// Asks Linux for the AMX tile state, for all threads of this process from now on. False where it refuses or has none.
bool request_amx_tiles() noexcept;

/// The instruction sets that the environment allows LibTorch. A variable that is not set is an empty string.
struct LibTorchLimits {
  std::string aten;     ///< ATEN_CPU_CAPABILITY: default, avx2 or avx512
  std::string one_dnn;  ///< ONEDNN_MAX_CPU_ISA, or its older name DNNL_MAX_CPU_ISA: AVX2, AVX512_CORE and so on
};

/// Whether LibTorch multiplies bfloat16 matrices faster than float32 ones on such a processor under such limits: with
/// AMX, or with AVX-512 BF16 of AMD. Elsewhere a product is faster in float32 between two roundings. Measured, GFLOP/s
/// of bfloat16 and float32: two Zen 3 cores 1.2 and 95; two Emerald Rapids cores without AMX 186 and 340; one of them
/// with oneDNN held to AVX-512 without BF16, 33 and 168.
bool multiplies_bfloat16_fast(const CpuFeatures& features, const LibTorchLimits& limits);

/// multiplies_bfloat16_fast() of this processor and of the environment that the process began with.
bool has_fast_bfloat16() noexcept;

/// "AMD EPYC ..., 2 threads, avx2": for logs and benchmark tables.
std::string cpu_description();

}  // namespace weft
