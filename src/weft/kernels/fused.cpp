// SPDX-License-Identifier: Apache-2.0
// Chooses an instruction set once and calls its kernels.
#include "weft/kernels/fused.h"

#include <cstdlib>
#include <iterator>
#include <string>

#include "weft/core/cpu.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/log.h"
#include "weft/kernels/fused/instances.h"
#include "weft/kernels/fused/tile.h"

namespace weft::kernels {
namespace {

// The kernels of an instruction set, or null where this build has none.
const FusedKernels* kernels_of(InstructionSet isa) noexcept {
  switch (isa) {
    case InstructionSet::kGeneric:
      return &kGenericKernels;
#if defined(__x86_64__)
    case InstructionSet::kAvx2:
      return &kAvx2Kernels;
    case InstructionSet::kAvx512:
      return &kAvx512Kernels;
    case InstructionSet::kAvx512Bf16:
      return &kAvx512Bf16Kernels;
    case InstructionSet::kAmx:
      return &kAmxKernels;
#endif
    default:
      return nullptr;
  }
}

// Asked once. The processor has tiles where Linux says so, but they are used only where they multiply.
bool tiles_work() {
#if defined(__x86_64__)
  if (!cpu_features().amx_bf16) {
    return false;
  }
  const char* problem = !request_amx_tiles()      ? "Linux refuses its tiles"
                        : !amx_product_is_right() ? "its product of two small matrices is wrong"
                                                  : nullptr;
  if (problem != nullptr) {
    log_warning("this processor has AMX, but ", problem, ": it is not used");
  }
  return problem == nullptr;
#else
  return false;
#endif
}

// Where products of bfloat16 have half the rate of float32, kernels that widen them are faster: 18 against 37 ms
// (window(512) of 4,096 tokens, Emerald Rapids without AMX).
bool is_slow(InstructionSet isa) noexcept { return isa == InstructionSet::kAvx512Bf16 && !cpu_features().wide_bf16; }

InstructionSet best_isa() noexcept {
  InstructionSet best = InstructionSet::kScalar;
  for (const InstructionSet isa : kInstructionSets) {
    best = is_available(isa) && !is_slow(isa) ? isa : best;
  }
  return best;
}

std::string known_names() {
  return weft::joined(kInstructionSets, ", ", [](InstructionSet isa) { return to_string(isa); });
}

InstructionSet forced_isa(const std::string& name) {
  for (const InstructionSet isa : kInstructionSets) {
    if (name == to_string(isa)) {
      if (!is_available(isa)) {
        fail(ErrorKind::kUnsupported, "WEFT_ISA=", name, ": this machine has no working ", name, ", its best is ",
             to_string(best_isa()));
      }
      return isa;
    }
  }
  fail(ErrorKind::kArgument, "WEFT_ISA must be one of ", known_names(), ", found \"", name, "\"");
}

/// What WEFT_ISA says; empty where it says nothing.
std::string named_isa() {
  const char* forced = std::getenv("WEFT_ISA");
  return forced == nullptr ? "" : forced;
}

InstructionSet choose() {
  const std::string forced = named_isa();
  return forced.empty() ? best_isa() : forced_isa(forced);
}

}  // namespace

const char* to_string(InstructionSet isa) noexcept {
  switch (isa) {
    case InstructionSet::kGeneric:
      return "generic";
    case InstructionSet::kAvx2:
      return "avx2";
    case InstructionSet::kAvx512:
      return "avx512";
    case InstructionSet::kAvx512Bf16:
      return "avx512bf16";
    case InstructionSet::kAmx:
      return "amx";
    default:
      return "scalar";
  }
}

bool is_available(InstructionSet isa) noexcept {
  const CpuFeatures& cpu = cpu_features();
  switch (isa) {
    case InstructionSet::kAvx2:
      return cpu.avx2;
    case InstructionSet::kAvx512:
      return cpu.avx512;
    case InstructionSet::kAvx512Bf16:
      return cpu.avx512_bf16;
    case InstructionSet::kAmx: {
      static const bool works = tiles_work();
      return works;
    }
    default:
      return true;
  }
}

InstructionSet chosen_isa() {
  static const InstructionSet isa = choose();
  return isa;
}

void check_forced_isa() {
  if (!named_isa().empty()) {
    chosen_isa();
  }
}

const char* fused_obstacle(const AttentionArguments& arguments) noexcept {
  if (arguments.dtype == DType::kFloat64) {
    return "the fused kernels do not take float64";
  }
  if (arguments.layout.tile_key != kTile || arguments.layout.tile_query > kTile) {
    return "the fused kernels take key tiles of 64 and query tiles of at most 64";
  }
  return nullptr;
}

Status fused_forward(InstructionSet isa, const AttentionArguments& arguments, const ParallelFor& parallel) noexcept {
  const FusedKernels* kernels = kernels_of(isa);
  if (kernels == nullptr) {
    attention_forward(arguments, parallel);
    return Status::kOk;
  }
  return fused_obstacle(arguments) == nullptr ? kernels->forward(arguments, parallel) : Status::kUnsupported;
}

Status fused_backward(InstructionSet isa, const AttentionArguments& arguments, const AttentionGradients& gradients,
                      const ParallelFor& parallel) noexcept {
  const FusedKernels* kernels = kernels_of(isa);
  if (kernels == nullptr) {
    attention_backward(arguments, gradients, parallel);
    return Status::kOk;
  }
  return fused_obstacle(arguments) == nullptr ? kernels->backward(arguments, gradients, parallel)
                                              : Status::kUnsupported;
}

bool drops_elements(InstructionSet isa, DType dtype) noexcept {
  return kernels_of(isa) != nullptr && (dtype == DType::kFloat32 || dtype == DType::kBFloat16);
}

void drop_elements(InstructionSet isa, const ElementDropout& call) noexcept { kernels_of(isa)->drop(call); }

bool norms_rows(InstructionSet isa, DType dtype, std::int64_t width) noexcept {
  return drops_elements(isa, dtype) && width <= kMostNormWidth;
}

void norm_rows(InstructionSet isa, const RowNorm& call) noexcept { kernels_of(isa)->norm(call); }

bool takes_scores(InstructionSet isa, DType dtype) noexcept { return drops_elements(isa, dtype); }

void score_loss(InstructionSet isa, const ScoreLoss& call) noexcept { kernels_of(isa)->score(call); }

bool sums_numbers(InstructionSet isa, DType dtype) noexcept { return drops_elements(isa, dtype); }

void sum_columns(InstructionSet isa, const ColumnSums& call) noexcept { kernels_of(isa)->sum_columns(call); }

void accumulate(InstructionSet isa, const Accumulation& call) noexcept { kernels_of(isa)->accumulate(call); }

bool takes_gelu(InstructionSet isa, DType dtype) noexcept { return drops_elements(isa, dtype); }

void apply_gelu(InstructionSet isa, const Gelu& call) noexcept { kernels_of(isa)->gelu(call); }

bool convolves_rows(InstructionSet isa) noexcept { return kernels_of(isa) != nullptr; }

void convolve_rows(InstructionSet isa, const RowConvolution& call, const ParallelFor& parallel) noexcept {
  kernels_of(isa)->convolve(call, parallel);
}

}  // namespace weft::kernels
