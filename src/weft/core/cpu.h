// SPDX-License-Identifier: Apache-2.0
// What the processor can do, asked once. Nothing here is a promise of speed on other machines.
#pragma once

#include <string>

namespace weft {

/// Instruction sets that kernels are compiled for; each flag stands for all of its subsets.
struct CpuFeatures {
  bool avx2 = false;    ///< AVX2, FMA and F16C
  bool avx512 = false;  ///< AVX-512 F, BW, VL, DQ
  bool avx512_bf16 = false;
  bool amx_bf16 = false;
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

/// Whether LibTorch multiplies bfloat16 matrices faster than float32 ones on such a processor under such limits: oneDNN
/// needs AVX-512 for it, and without it ATen's fallback is about 80 times slower than float32 (measured: 1.2 against 95
/// GFLOP/s on two Zen 3 cores).
bool multiplies_bfloat16_fast(const CpuFeatures& features, const LibTorchLimits& limits);

/// multiplies_bfloat16_fast() of this processor and of the environment that the process began with.
bool has_fast_bfloat16() noexcept;

/// "AMD EPYC ..., 2 threads, avx2": for logs and benchmark tables.
std::string cpu_description();

}  // namespace weft
