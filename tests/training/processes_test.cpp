// SPDX-License-Identifier: Apache-2.0
// The launcher's environment, and gradients that leave in buckets; two real processes train in tests/cli.
#include "weft/training/processes/process_group.h"

#include <torch/types.h>

#include <cstdlib>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/training/processes/environment.h"
#include "weft/training/processes/gradient_sum.h"

namespace weft::training {
namespace {

// Sets variables for a test; nothing stays.
class LauncherTest : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "OMPI_COMM_WORLD_RANK",
                             "OMPI_COMM_WORLD_SIZE", "TORCHELASTIC_USE_AGENT_STORE"}) {
      ::unsetenv(name);
    }
  }
};

TEST_F(LauncherTest, ReadsTorchrunAndMpirun) {
  EXPECT_FALSE(process_place());
  ::setenv("RANK", "2", 1);
  ::setenv("WORLD_SIZE", "4", 1);
  ::setenv("MASTER_ADDR", "10.0.0.1", 1);
  ::setenv("MASTER_PORT", "1234", 1);
  ::setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
  const auto torchrun = process_place();
  ASSERT_TRUE(torchrun);
  EXPECT_EQ(torchrun->rank, 2);
  EXPECT_EQ(torchrun->size, 4);
  EXPECT_EQ(torchrun->address, "10.0.0.1");
  EXPECT_EQ(torchrun->port, 1234);
  EXPECT_TRUE(torchrun->launcher_keeps_store);
  clear();
  ::setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  EXPECT_EQ(process_place()->rank, 1);
  EXPECT_FALSE(process_place()->launcher_keeps_store);
  ::setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
  ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  EXPECT_FALSE(process_place());
}

TEST_F(LauncherTest, NamesTheVariableThatIsWrong) {
  ::setenv("RANK", "2", 1);
  ::setenv("WORLD_SIZE", "2", 1);
  test::expect_error(ErrorKind::kArgument, {"RANK", "0 to 1", "'2'"}, [] { process_place(); });
  ::setenv("WORLD_SIZE", "two", 1);
  test::expect_error(ErrorKind::kArgument, {"WORLD_SIZE", "'two'"}, [] { process_place(); });
  ::setenv("WORLD_SIZE", "3", 1);
  ::setenv("MASTER_PORT", "0", 1);
  test::expect_error(ErrorKind::kArgument, {"MASTER_PORT", "65535", "'0'"}, [] { process_place(); });
}

// Half of a launcher's variables: a process that trained alone in silence would leave the others waiting.
TEST_F(LauncherTest, RankAndSizeComeTogether) {
  ::setenv("RANK", "1", 1);
  test::expect_error(ErrorKind::kArgument, {"RANK is set", "WORLD_SIZE is not"}, [] { process_place(); });
  clear();
  ::setenv("WORLD_SIZE", "2", 1);
  test::expect_error(ErrorKind::kArgument, {"WORLD_SIZE is set", "RANK is not"}, [] { process_place(); });
  clear();
  ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  test::expect_error(ErrorKind::kArgument, {"OMPI_COMM_WORLD_SIZE is set", "OMPI_COMM_WORLD_RANK is not"},
                     [] { process_place(); });
}

TEST_F(LauncherTest, NobodyHasAMillionProcesses) {
  ::setenv("RANK", "0", 1);
  ::setenv("WORLD_SIZE", "1048576", 1);
  test::expect_error(ErrorKind::kArgument, {"WORLD_SIZE", "1 to 4096", "'1048576'"}, [] { process_place(); });
}

TEST(Processes, OneAloneIsAGroup) {
  ProcessGroup alone;
  EXPECT_TRUE(alone.is_first());
  EXPECT_EQ(alone.sum(1.5), 1.5);
  EXPECT_EQ(alone.from_first(2.5), 2.5);
  EXPECT_EQ(alone.text_from_first("text"), "text");
  alone.meet();
}

// Three processes of which the other two have the same gradients; says in which order sums were asked for.
class ThreeAlike final : public ProcessGroup {
 public:
  std::int64_t size() const noexcept override { return 3; }
  std::function<void()> begin_sum(const at::Tensor& tensor) override {
    sizes.push_back(tensor.numel());
    return [tensor] { tensor.mul_(3); };
  }
  std::vector<std::int64_t> sizes;
};

TEST(GradientSumTest, SumsWhatTheBackwardPassMadeWhileItRuns) {
  ThreeAlike group;
  const at::Tensor first = torch::ones({3000, 1100}).requires_grad_();  // 13 MB: two fill a bucket
  const at::Tensor second = torch::ones({3000, 1100}).requires_grad_();
  const at::Tensor last = torch::ones({3000, 1100}).requires_grad_();
  const at::Tensor unused = torch::ones({5}).requires_grad_();
  GradientSum sum({first, unused, second, last}, group);
  const auto pass = [&] { (first * 2 + second * 3 + last * 4).sum().backward(); };
  pass();
  EXPECT_TRUE(group.sizes.empty()) << "nothing leaves before the last pass";
  sum.arm();
  pass();
  EXPECT_EQ(group.sizes.size(), 1U) << "the bucket without `unused` has left";
  sum.finish();
  EXPECT_EQ(group.sizes, (std::vector<std::int64_t>{2 * 3300000 + 2, 3300000 + 5 + 2}));
  EXPECT_EQ(first.grad()[7][7].item<double>(), 12.0);
  EXPECT_EQ(second.grad()[0][1].item<double>(), 18.0);
  EXPECT_EQ(last.grad()[2][3].item<double>(), 24.0);
  EXPECT_FALSE(unused.grad().defined());
}

TEST(GradientSumTest, AProcessWithoutAPartTakesPart) {
  ThreeAlike group;
  const at::Tensor parameter = torch::ones({4}).requires_grad_();
  GradientSum sum({parameter}, group);
  sum.finish();
  EXPECT_EQ(group.sizes.size(), 1U);
  EXPECT_FALSE(parameter.grad().defined());
}

}  // namespace
}  // namespace weft::training
