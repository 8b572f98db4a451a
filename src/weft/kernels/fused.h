// SPDX-License-Identifier: Apache-2.0
// The fused kernels and the instruction sets they are compiled for. The choice is made once, at run time: the best that
// the processor has, or the one that WEFT_ISA names.
#pragma once

#include "weft/kernels/arguments.h"

namespace weft::kernels {

enum class InstructionSet : std::uint8_t {
  kScalar,      ///< the plain kernels of attention_forward and attention_backward
  kGeneric,     ///< the fused kernels in the compiler's own vectors of four lanes: every processor
  kAvx2,        ///< AVX2, FMA, F16C
  kAvx512,      ///< AVX-512 F, BW, VL, DQ
  kAvx512Bf16,  ///< AVX-512 with BF16 products for bfloat16
  kAmx,         ///< AVX-512 with BF16, and AMX tiles for bfloat16
};
inline constexpr InstructionSet kInstructionSets[] = {InstructionSet::kScalar,     InstructionSet::kGeneric,
                                                      InstructionSet::kAvx2,       InstructionSet::kAvx512,
                                                      InstructionSet::kAvx512Bf16, InstructionSet::kAmx};

enum class Status : std::uint8_t {
  kOk,
  kOutOfMemory,  ///< nothing that was written may be used
  kUnsupported,  ///< fused_obstacle() says what
};

[[gnu::always_inline]] constexpr Status status_of(bool had_memory) noexcept {
  return had_memory ? Status::kOk : Status::kOutOfMemory;
}

/// "scalar", "generic", "avx2", "avx512", "avx512bf16", "amx": the names that WEFT_ISA takes.
const char* to_string(InstructionSet isa) noexcept;

/// Whether this build has the kernel and this processor runs it. Of AMX also, asked once, whether Linux grants its
/// tiles and a small product comes out right; if not, a warning is logged.
bool is_available(InstructionSet isa) noexcept;

/// The instruction set of this process. Throws kArgument where WEFT_ISA names none, kUnsupported where the machine
/// lacks it.
InstructionSet chosen_isa();

/// Throws what chosen_isa() would where WEFT_ISA is set: for a program that begins, whichever kernels it will call.
void check_forced_isa();

/// Why the fused kernels do not take a call, as a static string, or null: they take float32, bfloat16 and float16, key
/// tiles of 64 and query tiles up to 64.
const char* fused_obstacle(const AttentionArguments& arguments) noexcept;

/// attention_forward and attention_backward with the given instruction set. Float32 accumulation; rows without edges
/// are zero; a key or value with NaN or infinity makes the rows NaN that attend to it, and no other. Same bits for the
/// same number of threads. Workspace: a few hundred KB to 10 MB a thread, and where query gradients are not float32 a
/// float32 copy of them for a head a thread.
Status fused_forward(InstructionSet isa, const AttentionArguments& arguments, const ParallelFor& parallel) noexcept;
Status fused_backward(InstructionSet isa, const AttentionArguments& arguments, const AttentionGradients& gradients,
                      const ParallelFor& parallel) noexcept;

}  // namespace weft::kernels
