// SPDX-License-Identifier: Apache-2.0
// The backend for GPUs over emulated kernels: what it takes and what it refuses, the draws of the CPU, one copy of a
// layout a device, and what it says of a library that cannot be used. Its numbers are in agreement_test.cpp and
// backends_test.cpp.
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <ATen/autocast_mode.h>
#include <torch/types.h>

#include "attention/cuda/emulated_backend.h"
#include "attention/small_calls.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/attention/backends/cpu/cpu_backend.h"
#include "weft/attention/backends/cuda/device_layout.h"
#include "weft/attention/backends/list.h"
#include "weft/attention/backends/portable/portable_backend.h"
#include "weft/attention/operator/checks.h"

namespace weft::test {
namespace {

using attention::BackendsInUse;
using attention::Path;
using Fused = attention::CudaRows<kEmulatedDevice>;

attention::Call small_call(at::ScalarType dtype = at::kFloat, std::int64_t head_dim = 8, pattern::Tile tile = {}) {
  const Tensors in = random_tensors({1, 2, 70, head_dim}, dtype);
  return {.query = in.query, .key = in.key, .value = in.value, .layout = layout_of("window(9)", 70, 2, tile)};
}

void expect_refusal(const attention::Answer& answer, const std::string& reason) {
  ASSERT_FALSE(answer.is_yes()) << reason;
  EXPECT_NE(std::string(answer.reason()).find(reason), std::string::npos) << answer.reason();
}

TEST(CudaBackend, SaysWhatItDoesNotTake) {
  EXPECT_TRUE(Fused::takes(small_call()).is_yes());
  EXPECT_TRUE(Fused::takes(small_call(at::kHalf, 256, {1, 64})).is_yes());
  expect_refusal(Fused::takes(small_call(at::kDouble)), "float32, bfloat16 and float16");
  expect_refusal(Fused::takes(small_call(at::kFloat, 257)), "head_dim up to 256");
  expect_refusal(Fused::takes(small_call(at::kFloat, 8, {16, 8})), "tiles of 64 keys");
  expect_refusal(Fused::takes(small_call(at::kFloat, 8, {128, 64})), "at most 64 queries");
  expect_refusal(attention::kCudaBackend.ways[0].takes(small_call()), "tensors on a GPU");
  attention::Call call = small_call();
  call.relative = {call.query, call.key.select(0, 0), 0};
  expect_refusal(Fused::takes(call), "no relative term");
  call = small_call();
  call.dropout = {0.1F, {3, DropoutDraws::kFirst}, 0};
  expect_refusal(Fused::takes(call), "the first draws of dropout");
  call = small_call();
  call.distances = {at::zeros({2, 1, 1025}), 0};
  EXPECT_TRUE(Fused::takes(call).is_yes());
  call.distances.scores.requires_grad_();
  expect_refusal(Fused::takes(call), "up to 1,024 entries");
}

TEST(CudaBackend, WhatItRefusesIsPortableAndSaysSo) {
  const BackendsInUse in_use({&kEmulatedCuda, &attention::kPortableBackend});
  const auto layout = layout_of("window(9)", 70, 2);
  const auto taken = run(random_tensors({1, 2, 70, 8}), layout);
  EXPECT_EQ(taken.backend, "cuda");
  EXPECT_EQ(taken.path, Path::kFused);
  EXPECT_EQ(run(random_tensors({1, 2, 70, 8}, at::kDouble), layout).backend, "portable");
  expect_error(ErrorKind::kArgument, {"float32, bfloat16 and float16", "found Double"},
               [&] { run(random_tensors({1, 2, 70, 8}, at::kDouble), layout, Path::kFused); });
}

TEST(CudaBackend, DropsTheElementsThatTheCpuDrops) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
    at::manual_seed(3);
    const attention::DropoutCall call{at::randn({7, 61}).to(dtype), 0.3, 9};
    ASSERT_TRUE(Fused::takes_dropout(call).is_yes());
    EXPECT_TRUE(at::equal(Fused::dropout(call), attention::kCpuBackend.dropout.forward(call))) << dtype;
  }
  const attention::DropoutCall first{at::randn({4}), 0.3, {9, DropoutDraws::kFirst}};
  expect_refusal(Fused::takes_dropout(first), "the first draws of dropout");
  expect_refusal(Fused::takes_dropout({at::randn({4}, at::kDouble), 0.3, 9}), "float32, bfloat16 and float16");
}

TEST(CudaBackend, RotatesAsTheCpuDoes) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
    at::manual_seed(4);
    const at::Tensor x = at::randn({2, 5, 3, 12}).to(dtype).transpose(1, 2);
    for (const bool is_inverse : {false, true}) {
      const attention::RotationCall call{x, at::rand({5, 6}), at::rand({5, 6}), is_inverse};
      ASSERT_TRUE(Fused::takes_rotation(call).is_yes());
      const at::Tensor found = at::empty_like(x);
      const at::Tensor expected = at::empty_like(x);
      Fused::rotation(call, found);
      attention::kCpuBackend.rotation.forward(call, expected);
      EXPECT_TRUE(at::equal(found, expected)) << dtype;
    }
  }
}

TEST(CudaBackend, KeepsOneCopyOfALayout) {
  const auto layout = layout_of("window(9) | global(2)", 70, 2);
  const attention::Launch launch(kEmulatedDevice, at::kCPU);
  const attention::RowsOnDevice& rows = attention::rows_on_device(*layout, launch);
  EXPECT_EQ(&attention::rows_on_device(*layout, launch), &rows);
  EXPECT_EQ(rows.layout.query_blocks, 2);
  EXPECT_FALSE(rows.has_weights);
  const attention::ColumnsOnDevice& columns = attention::columns_on_device(*layout, launch, false);
  EXPECT_EQ(&attention::columns_on_device(*layout, launch, false), &columns);
  EXPECT_NE(&attention::columns_on_device(*layout, launch, true), &columns);
  EXPECT_EQ(columns.work.slots, 0);
  EXPECT_GT(attention::columns_on_device(*layout, launch, true).work.slots, 0);
}

TEST(CudaBackend, AutocastGivesItItsType) {
  const BackendsInUse in_use({&kEmulatedCuda});
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const auto found = run(random_tensors({1, 2, 70, 8}), layout_of("window(9)", 70, 2));
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_EQ(found.output.scalar_type(), at::kBFloat16);
  EXPECT_EQ(found.backend, "cuda");
}

const char* fails_to_start(const kernels::cuda::DeviceCall*, void*) { return "out of registers\n(of the device)"; }
const char* serves_none(int) { return "libweft_cuda has no machine code for this GPU"; }
const char* serves_all(int) { return nullptr; }

const attention::CudaLibrary& failing_library() {
  static const attention::CudaLibrary library{
      .forward = fails_to_start, .use_device = serves_all, .device_problem = serves_all};
  return library;
}
const attention::CudaLibrary& library_without_device() {
  static const attention::CudaLibrary library{.forward = fails_to_start, .device_problem = serves_none};
  return library;
}
const attention::CudaLibrary& absent_library() {
  static const attention::CudaLibrary library = attention::open_cuda_library("/nowhere/libweft_cuda.so");
  return library;
}

TEST(CudaBackend, ALaunchThatFailsIsOneLine) {
  constexpr attention::KernelDevice kFailing{c10::DeviceType::CPU, failing_library, no_stream};
  expect_error(ErrorKind::kUnsupported, {"does not start on cpu", "out of registers"},
               [&] { attention::cuda_forward(kFailing, small_call()); });
}

TEST(CudaBackend, AGpuOrALibraryThatIsMissingIsARefusal) {
  constexpr attention::KernelDevice kNone{c10::DeviceType::CPU, library_without_device, no_stream};
  expect_refusal(attention::cuda_takes(kNone, small_call()), "no machine code for this GPU");
  constexpr attention::KernelDevice kAbsent{c10::DeviceType::CPU, absent_library, no_stream};
  expect_refusal(attention::cuda_takes(kAbsent, small_call()), "which is not at '/nowhere/libweft_cuda.so'");
}

TEST(CudaBackend, ALibraryThatCannotBeUsedIsOneLine) {
  const TemporaryDirectory directory;
  const std::filesystem::path dead = directory.path() / "libweft_cuda.so";
  std::ofstream(dead) << "not a library";
  expect_error(ErrorKind::kUnsupported, {"cannot use the CUDA kernels of", "libweft_cuda.so"},
               [&] { attention::open_cuda_library(dead); });
  Dl_info own{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&dlopen), &own), 0);
  expect_error(ErrorKind::kUnsupported, {"it has no function weft_cuda_version"},
               [&] { attention::open_cuda_library(own.dli_fname); });
  expect_error(ErrorKind::kUnsupported, {"it is of Weft '0.0.9', and this is"},
               [] { attention::open_cuda_library(WEFT_OLD_CUDA); });
  expect_error(ErrorKind::kUnsupported, {"built from other sources", "8 bytes there"},
               [] { attention::open_cuda_library(WEFT_OTHER_CUDA); });
}

}  // namespace
}  // namespace weft::test
