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
  EXPECT_TRUE(!features.wide_bf16 || features.avx512_bf16);
  EXPECT_TRUE(!has_fast_bfloat16() || features.avx512_bf16);
}

// AVX-512 alone, and Intel's AVX-512 BF16, multiply bfloat16 slower than float32.
TEST(Cpu, FastBFloat16NeedsTilesOrWideProducts) {
  const CpuFeatures avx2{.avx2 = true};
  const CpuFeatures avx512{.avx2 = true, .avx512 = true};
  const CpuFeatures intel{.avx2 = true, .avx512 = true, .avx512_bf16 = true};
  const CpuFeatures amd{.avx2 = true, .avx512 = true, .avx512_bf16 = true, .wide_bf16 = true};
  const CpuFeatures amx{.avx2 = true, .avx512 = true, .avx512_bf16 = true, .amx_bf16 = true};
  for (const CpuFeatures& slow : {avx2, avx512, intel}) {
    EXPECT_FALSE(multiplies_bfloat16_fast(slow, {}));
    EXPECT_FALSE(multiplies_bfloat16_fast(slow, {.aten = "avx512", .one_dnn = "AVX512_CORE_AMX"}));
  }
  EXPECT_TRUE(multiplies_bfloat16_fast(amd, {}));
  EXPECT_TRUE(multiplies_bfloat16_fast(amx, {}));
}

// LibTorch held to less than the processor has is as slow as on a lesser one.
TEST(Cpu, FastBFloat16KnowsWhatLibTorchIsHeldTo) {
  const CpuFeatures amd{.avx2 = true, .avx512 = true, .avx512_bf16 = true, .wide_bf16 = true};
  const CpuFeatures amx{.avx2 = true, .avx512 = true, .avx512_bf16 = true, .amx_bf16 = true};
  const auto fast = [](const CpuFeatures& features, const char* one_dnn) {
    return multiplies_bfloat16_fast(features, {.aten = "avx512", .one_dnn = one_dnn});
  };
  for (const char* name : {"AVX512_CORE_AMX", "avx10_1_512_amx", "DEFAULT", "unknown", ""}) {
    EXPECT_TRUE(fast(amd, name) && fast(amx, name)) << name;
  }
  for (const char* name : {"avx512_core_bf16", "AVX512_CORE_FP16", "AVX10_1_512"}) {
    EXPECT_TRUE(fast(amd, name)) << name;
    EXPECT_FALSE(fast(amx, name)) << name;
  }
  for (const char* name :
       {"SSE41", "AVX", "AVX2", "avx2", "AVX2_VNNI", "AVX2_VNNI_2", "AVX512_CORE", "AVX512_CORE_VNNI"}) {
    EXPECT_FALSE(fast(amd, name) || fast(amx, name)) << name;
  }
  for (const char* aten : {"default", "avx2"}) {
    EXPECT_FALSE(multiplies_bfloat16_fast(amd, {.aten = aten, .one_dnn = ""})) << aten;
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
