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
  EXPECT_EQ(has_fast_bfloat16(), features.avx512);
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
