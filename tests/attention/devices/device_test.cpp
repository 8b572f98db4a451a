// SPDX-License-Identifier: Apache-2.0
// Names of devices, and one clear line for each reason why a device cannot compute here.
#include "weft/attention/devices/device.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace weft::attention {
namespace {

CudaDriver driver_of(int version, std::size_t gpus) {
  return {version, std::vector<CudaDevice>(gpus, {"GPU", 9, 0, std::int64_t{80} << 30}), ""};
}

TEST(Device, NamesAreCpuCudaAndCudaWithANumber) {
  EXPECT_EQ(parse_device("cpu"), c10::Device(c10::kCPU));
  EXPECT_EQ(parse_device("cuda:3"), c10::Device(c10::kCUDA, 3));
  for (const char* name : {"", "gpu", "CUDA", "cuda:", "cuda:-1", "cuda:128", "cuda:1x", "cuda:99999999999", "cpu:0"}) {
    test::expect_error(ErrorKind::kArgument, {"must be cpu, cuda or cuda:N", "found '"}, [&] { parse_device(name); });
  }
}

TEST(Device, SaysWhyTheDriverDoesNotServeIt) {
  const c10::Device second(c10::kCUDA, 1);
  check_driver(driver_of(13020, 2), second, 13020);
  check_driver(driver_of(13000, 2), second, 13020);  // minor versions run on one another
  CudaDriver none;
  none.problem = "there is no NVIDIA driver: libcuda.so.1 cannot be opened";
  test::expect_error(ErrorKind::kUnsupported, {"cuda:1", "there is no NVIDIA driver"},
                     [&] { check_driver(none, second, 0); });
  test::expect_error(ErrorKind::kUnsupported, {"cuda:1", "too old", "serves CUDA 12.4", "made for CUDA 13.2"},
                     [&] { check_driver(driver_of(12040, 2), second, 13020); });
  test::expect_error(ErrorKind::kUnsupported, {"cuda:1", "no such GPU", "sees 1: cuda:0"},
                     [&] { check_driver(driver_of(13020, 1), second, 0); });
}

TEST(Device, SaysWhereLibTorchHasNoCuda) {
  const test::TemporaryDirectory folder;
  test::expect_error(ErrorKind::kUnsupported, {"this LibTorch has no CUDA", folder.path().string()},
                     [&] { open_cuda_half(folder.path().string()); });
}

TEST(Device, Tf32IsForGpus) {
  test::expect_error(ErrorKind::kArgument, {"tf32 is for products on a GPU, and device is cpu"},
                     [] { multiply_as_tf32(c10::Device(c10::kCPU)); });
  at::Context& context = at::globalContext();
  const bool before = context.allowTF32CuDNN();
  multiply_as_tf32(c10::Device(c10::kCUDA, 0));
  EXPECT_TRUE(context.allowTF32CuBLAS());
  EXPECT_TRUE(context.allowTF32CuDNN());
  context.setAllowTF32CuBLAS(false);
  context.setAllowTF32CuDNN(false);
  const DevicesAreGiven given;
  EXPECT_EQ(usable_device("cuda:0", false), c10::Device(c10::kCUDA, 0));
  EXPECT_FALSE(context.allowTF32CuBLAS());
  EXPECT_EQ(usable_device("cuda:0", true), c10::Device(c10::kCUDA, 0));
  EXPECT_TRUE(context.allowTF32CuBLAS() && context.allowTF32CuDNN());
  test::expect_error(ErrorKind::kArgument, {"device is cpu"}, [] { usable_device("cpu", true); });
  context.setAllowTF32CuBLAS(false);
  context.setAllowTF32CuDNN(before);
}

TEST(Device, ModelsAreOpenedWhereTheInnermostScopeSays) {
  EXPECT_EQ(opening_device(), c10::Device(c10::kCPU));
  {
    const OpenOn outer(c10::Device(c10::kCUDA, 1));
    EXPECT_EQ(opening_device(), c10::Device(c10::kCUDA, 1));
    const OpenOn inner{c10::Device(c10::kCPU)};
    EXPECT_EQ(opening_device(), c10::Device(c10::kCPU));
  }
  EXPECT_EQ(opening_device(), c10::Device(c10::kCPU));
}

}  // namespace
}  // namespace weft::attention
