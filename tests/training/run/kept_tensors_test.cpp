// SPDX-License-Identifier: Apache-2.0
// Tensors of a step in the memory of the step before: where they lie, what they outlive, numbers that stay.
#include "weft/training/run/kept_tensors.h"

#include <gtest/gtest.h>

#include <c10/core/CPUAllocator.h>
#include <torch/types.h>

#include "support/temporary_directory.h"
#include "training/fake_task.h"
#include "weft/training/trainer.h"

namespace weft::training {
namespace {

constexpr std::int64_t kNumbers = 1 << 20;  // 4 MiB

at::Tensor a_step() {
  const at::Tensor x = torch::ones({kNumbers}).requires_grad_();
  (x * x + x).sum().backward();
  return x.grad();
}

TEST(KeptTensors, AStepTakesTheMemoryOfTheStepBefore) {
  KeptTensors kept;
  for (int step = 0; step < 2; ++step) {
    a_step();
    kept.end_step(step);
  }
  const KeptTensorBytes before = kept_tensor_bytes();
  for (int step = 2; step < 20; ++step) {
    EXPECT_EQ(a_step().sum().item<double>(), 3.0 * kNumbers);
    kept.end_step(step);
  }
  const KeptTensorBytes after = kept_tensor_bytes();
  EXPECT_GT(after.made - before.made, std::size_t{18} * 3 * 4 * kNumbers);
  EXPECT_EQ(after.fresh, before.fresh);
}

TEST(KeptTensors, SmallTensorsStayWhereLibTorchPutsThem) {
  const KeptTensors kept;
  const KeptTensorBytes before = kept_tensor_bytes();
  EXPECT_EQ(torch::ones({1000}).sum().item<double>(), 1000);
  EXPECT_EQ(kept_tensor_bytes().made, before.made);
}

TEST(KeptTensors, TensorsOutliveItAndLibTorchsAllocatorIsBack) {
  c10::Allocator* const usual = c10::GetCPUAllocator();
  at::Tensor outside = torch::ones({kNumbers});
  at::Tensor inside;
  {
    KeptTensors kept;
    const KeptTensors again;
    EXPECT_NE(c10::GetCPUAllocator(), usual);
    inside = torch::ones({kNumbers}) + outside;
    outside.reset();
    kept.release();
  }
  EXPECT_EQ(c10::GetCPUAllocator(), usual);
  EXPECT_EQ(inside.sum().item<double>(), 2.0 * kNumbers);
  inside.resize_({2 * kNumbers});
  EXPECT_EQ(inside.narrow(0, 0, kNumbers).sum().item<double>(), 2.0 * kNumbers);
}

TEST(KeptTensors, ATensorThatIsTooLargeIsLibTorchsError) {
  const KeptTensors kept;
  EXPECT_THROW(torch::empty({std::int64_t{1} << 45}), c10::Error);
}

TEST(KeptTensors, ATrainerUsesItWhileItLives) {
  c10::Allocator* const usual = c10::GetCPUAllocator();
  const test::TemporaryDirectory folder;
  const auto task = std::make_shared<test::FakeTask>();
  std::int64_t steps_in_kept_memory = 0;
  task->on_loss = [&](std::int64_t) { steps_in_kept_memory += c10::GetCPUAllocator() != usual ? 1 : 0; };
  Trainer::start(folder / "run", test::fake_config(5), task).run();
  EXPECT_GE(steps_in_kept_memory, 5);
  EXPECT_EQ(c10::GetCPUAllocator(), usual);
}

}  // namespace
}  // namespace weft::training
