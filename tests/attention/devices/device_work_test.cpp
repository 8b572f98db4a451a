// SPDX-License-Identifier: Apache-2.0
// What a device is fast at and how it is named, by what a driver says; a CPU has done its work and counts nothing.
#include "weft/attention/devices/device_work.h"

#include <gtest/gtest.h>

#include "weft/core/cpu.h"

namespace weft::attention {
namespace {

const c10::Device kProcessor(c10::kCPU);

CudaDriver driver_with(int major, int minor) { return {13020, {{"NVIDIA T4", major, minor, 16}}, ""}; }

TEST(DeviceWork, BfloatIsFastFromComputeCapability8On) {
  const c10::Device first(c10::kCUDA, 0);
  EXPECT_FALSE(is_fast_at_bfloat16(first, driver_with(7, 5)));
  EXPECT_TRUE(is_fast_at_bfloat16(first, driver_with(8, 0)));
  EXPECT_TRUE(is_fast_at_bfloat16(c10::Device(c10::kCUDA), driver_with(9, 0)));
  EXPECT_FALSE(is_fast_at_bfloat16(c10::Device(c10::kCUDA, 1), driver_with(9, 0)));
  EXPECT_EQ(is_fast_at_bfloat16(kProcessor, driver_with(9, 0)), has_fast_bfloat16());
  EXPECT_EQ(is_fast_at_bfloat16(kProcessor), has_fast_bfloat16());
}

TEST(DeviceWork, ADeviceIsDescribedAsItsDriverNamesIt) {
  EXPECT_EQ(device_description(c10::Device(c10::kCUDA, 0), driver_with(7, 5)), "NVIDIA T4, compute capability 7.5");
  EXPECT_EQ(device_description(c10::Device(c10::kCUDA, 1), driver_with(7, 5)), "cuda:1");
  EXPECT_EQ(device_description(kProcessor), cpu_description());
}

TEST(DeviceWork, ACpuHasDoneItsWorkAndCountsNothing) {
  synchronise(kProcessor);
  reset_device_peak(kProcessor);
  EXPECT_EQ(device_peak(kProcessor), 0);
  EXPECT_EQ(device_bytes(kProcessor), 0);
}

}  // namespace
}  // namespace weft::attention
