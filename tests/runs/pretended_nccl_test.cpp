// SPDX-License-Identifier: Apache-2.0
// Sums of GPUs by NCCL, of which tests have one that adds up by the CPU what threads bring: how Weft calls it.
#include <gtest/gtest.h>

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <dlfcn.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "support/expect_error.h"
#include "support/layers/pretended_cuda.h"
#include "weft/training/processes/nccl_sums.h"
#include "weft/training/processes/process_group.h"

namespace weft::test {
namespace {

// Before LibTorch is asked for CUDA by another test.
const c10::Device kGpu = pretended_cuda();

/// What the first of two threads tells the other.
struct Told {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<at::Tensor> tensors;
};

/// Two threads as two processes, which tell each other tensors by the host.
class PairOfThreads : public training::ProcessGroup {
 public:
  PairOfThreads(Told& told, std::int64_t rank) : told_(told), rank_(rank) {}
  std::int64_t rank() const noexcept override { return rank_; }
  std::int64_t size() const noexcept override { return 2; }
  void copy_from_first(const at::Tensor& tensor) override {
    std::unique_lock lock(told_.mutex);
    if (is_first()) {
      told_.tensors.push_back(tensor.clone());
      told_.changed.notify_all();
    } else {
      told_.changed.wait(lock, [&] { return told_.tensors.size() > heard_; });
      tensor.copy_(told_.tensors.at(heard_++));
    }
  }

 private:
  Told& told_;
  std::int64_t rank_;
  std::size_t heard_ = 0;
};

class Nccl : public ::testing::Test {
 protected:
  // Whoever opens libnccl.so.2 afterwards gets this one, by its name.
  static void SetUpTestSuite() {
    ASSERT_NE(::dlopen(WEFT_PRETENDED_NCCL, RTLD_NOW | RTLD_LOCAL), nullptr) << ::dlerror();
  }
};

at::Tensor on_gpu(double value, at::ScalarType dtype) { return at::full({5}, value, dtype).to(kGpu); }

TEST_F(Nccl, SumsOverTwoProcesses) {
  Told told;
  const auto process = [&](std::int64_t rank) {
    PairOfThreads group(told, rank);
    training::NcclSums sums(group, kGpu);
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
      at::Tensor tensor = on_gpu(rank == 0 ? 1.5 : 20, dtype);
      {
        const OpenedMemory open;
        sums.sum(tensor);
      }
      EXPECT_TRUE(at::equal(tensor.to(at::kCPU), at::full({5}, 21.5, dtype)));
    }
  };
  std::thread second(process, 1);
  process(0);
  second.join();
}

TEST_F(Nccl, SaysWhatItRefuses) {
  training::ProcessGroup alone;
  training::NcclSums sums(alone, kGpu);
  expect_error(ErrorKind::kUnsupported, {"NCCL sums float numbers here", "Long"},
               [&] { sums.sum(at::full({2}, 1, at::kLong).to(kGpu)); });
  expect_error(ErrorKind::kIo, {"NCCL: ncclAllReduce: invalid argument"},  // the pretended one has no such sums
               [&] { sums.sum(on_gpu(1, at::kBFloat16)); });
}

}  // namespace
}  // namespace weft::test
