// SPDX-License-Identifier: Apache-2.0
// Features imply what they stand on, and agree with what Linux says about the processor.
#include "weft/core/cpu.h"

#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Cpu, FeaturesStandOnEachOther) {
  const CpuFeatures& features = cpu_features();
  EXPECT_TRUE(!features.amx_bf16 || features.avx512_bf16);
  EXPECT_TRUE(!features.avx512_bf16 || features.avx512);
  EXPECT_TRUE(!features.avx512 || features.avx2);
  EXPECT_TRUE(!has_fast_bfloat16() || features.avx512);
}

// LibTorch held to AVX2 multiplies bfloat16 eighty times slower than float32, whatever the processor could do.
TEST(Cpu, FastBFloat16KnowsWhatLibTorchIsHeldTo) {
  const CpuFeatures avx2{.avx2 = true};
  const CpuFeatures avx512{.avx2 = true, .avx512 = true};
  EXPECT_FALSE(multiplies_bfloat16_fast(avx2, {}));
  EXPECT_FALSE(multiplies_bfloat16_fast(avx2, {.aten = "avx512", .one_dnn = "AVX512_CORE"}));
  EXPECT_TRUE(multiplies_bfloat16_fast(avx512, {}));
  for (const char* one_dnn : {"AVX512_CORE", "avx512_core_bf16", "AVX512_CORE_AMX", "DEFAULT", "unknown"}) {
    EXPECT_TRUE(multiplies_bfloat16_fast(avx512, {.aten = "avx512", .one_dnn = one_dnn})) << one_dnn;
  }
  for (const char* one_dnn : {"SSE41", "AVX", "AVX2", "avx2", "AVX2_VNNI", "AVX2_VNNI_2"}) {
    EXPECT_FALSE(multiplies_bfloat16_fast(avx512, {.aten = "", .one_dnn = one_dnn})) << one_dnn;
  }
  for (const char* aten : {"default", "avx2"}) {
    EXPECT_FALSE(multiplies_bfloat16_fast(avx512, {.aten = aten, .one_dnn = ""})) << aten;
  }
}

TEST(Cpu, AgreesWithLinux) {
  std::ifstream file("/proc/cpuinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.find("flags") == std::string::npos) {
    GTEST_SKIP() << "no flags in /proc/cpuinfo";
  }
  EXPECT_EQ(cpu_features().avx2, text.find(" avx2") != std::string::npos);
  EXPECT_EQ(cpu_features().avx512, text.find(" avx512vl") != std::string::npos);
}

TEST(Cpu, DescriptionIsOneLine) {
  const std::string text = cpu_description();
  EXPECT_NE(text.find(" threads, "), std::string::npos);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace weft
