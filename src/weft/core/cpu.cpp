// SPDX-License-Identifier: Apache-2.0
// Processor features by CPUID, with the operating system's word on whether their registers are saved.
#include "weft/core/cpu.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <string_view>
#include <thread>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "weft/core/environment.h"
#include "weft/core/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace weft {
namespace {

#if defined(__x86_64__)
// The AMX tile data state, which is off until a process asks for it.
constexpr int kTileData = 18;

bool kernel_offers_tiles() noexcept {
  constexpr int kGetSupportedStates = 0x1021;  // ARCH_GET_XCOMP_SUPP
  unsigned long states = 0;
  return ::syscall(SYS_arch_prctl, kGetSupportedStates, &states) == 0 && (states & (1UL << kTileData)) != 0;
}

bool grants_tiles() noexcept {
  constexpr int kRequestState = 0x1023;  // ARCH_REQ_XCOMP_PERM
  return ::syscall(SYS_arch_prctl, kRequestState, kTileData) == 0;
}

// By its bit: older compilers have no name for it.
bool has_avx_vnni() noexcept {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & (1U << 4)) != 0;
}

CpuFeatures detect() noexcept {
  __builtin_cpu_init();
  CpuFeatures features;
  // GCC's tests ask XGETBV too: a feature counts where the operating system saves its registers.
  features.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  // Kernels assume these four together; a processor with F alone counts as AVX2.
  features.avx512 = features.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  features.avx_vnni = features.avx2 && has_avx_vnni();
  features.avx512_vnni = features.avx512 && __builtin_cpu_supports("avx512vnni");
  features.avx512_bf16 = features.avx512 && __builtin_cpu_supports("avx512bf16");
  features.amx_bf16 = features.avx512_bf16 && __builtin_cpu_supports("amx-tile") &&
                      __builtin_cpu_supports("amx-bf16") && kernel_offers_tiles();
  features.wide_bf16 = features.avx512_bf16 && __builtin_cpu_is("amd");
  return features;
}
#else
CpuFeatures detect() noexcept { return {}; }
bool grants_tiles() noexcept { return false; }
#endif

// From /proc, so Linux only; it is for logs, and nothing is decided by it.
std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) {
      const std::size_t colon = line.find(": ");
      return colon == std::string::npos ? line : line.substr(colon + 2);
    }
  }
  return "unknown processor";
}

// What the scheduler allows this process, which in a container or under taskset is less than the machine has.
int usable_threads() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) {
    return CPU_COUNT(&set);
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// oneDNN looks at the older name only where the newer one is not set.
std::string one_dnn_limit() {
  return environment("ONEDNN_MAX_CPU_ISA").value_or(environment("DNNL_MAX_CPU_ISA").value_or(""));
}

// How far oneDNN may go, of what matters to bfloat16.
enum class OneDnnLimit { kNone, kAvx512Bf16, kAmx };

// Names that oneDNN does not know change nothing there, and nothing here.
OneDnnLimit one_dnn_level(std::string name) {
  constexpr std::string_view kWithoutBf16[] = {
      "sse41", "avx", "avx2", "avx2_vnni", "avx2_vnni_2", "avx512_core", "avx512_core_vnni"};
  constexpr std::string_view kWithoutTiles[] = {"avx512_core_bf16", "avx512_core_fp16", "avx10_1_512"};
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  const auto holds = [&](const auto& names) { return std::ranges::find(names, name) != std::end(names); };
  return holds(kWithoutBf16) ? OneDnnLimit::kNone : holds(kWithoutTiles) ? OneDnnLimit::kAvx512Bf16 : OneDnnLimit::kAmx;
}

const char* best_instruction_set() {
  const CpuFeatures& features = cpu_features();
  return features.amx_bf16      ? "amx"
         : features.avx512_bf16 ? "avx512 with bf16"
         : features.avx512      ? "avx512"
         : features.avx2        ? "avx2"
                                : "scalar";
}

}  // namespace

const CpuFeatures& cpu_features() noexcept {
  static const CpuFeatures features = detect();
  return features;
}

bool request_amx_tiles() noexcept { return grants_tiles(); }

bool multiplies_bfloat16_fast(const CpuFeatures& features, const LibTorchLimits& limits) {
  const bool aten_is_held = limits.aten == "default" || limits.aten == "avx2";
  const OneDnnLimit one_dnn = one_dnn_level(limits.one_dnn);
  const bool by_tiles = features.amx_bf16 && one_dnn >= OneDnnLimit::kAmx;
  const bool by_vectors = features.wide_bf16 && one_dnn >= OneDnnLimit::kAvx512Bf16;
  return !aten_is_held && (by_tiles || by_vectors);
}

bool has_fast_bfloat16() noexcept {
  static const bool fast =
      multiplies_bfloat16_fast(cpu_features(), {environment("ATEN_CPU_CAPABILITY").value_or(""), one_dnn_limit()});
  return fast;
}

std::string cpu_description() {
  return concat(model_name(), ", ", usable_threads(), " threads, ", best_instruction_set());
}

}  // namespace weft
