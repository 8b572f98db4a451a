// SPDX-License-Identifier: Apache-2.0
// One optimiser step: accumulation, clipping, and what must not touch the weights.
#include "weft/training/update.h"

#include <ATen/ops/equal.h>

#include <csignal>
#include <limits>

#include <gtest/gtest.h>

#include "support/cleared_interrupt.h"
#include "support/expect_error.h"
#include "training/fake_task.h"
#include "weft/core/interrupt.h"

namespace weft::training {
namespace {

double fixed_rate() { return 0.01; }

std::vector<at::Tensor> copies(const Task& task) {
  std::vector<at::Tensor> result;
  for (const auto& [name, parameter] : task.parameters()) {
    result.push_back(parameter.detach().clone());
  }
  return result;
}

bool same_weights(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(),
                    [](const at::Tensor& x, const at::Tensor& y) { return at::equal(x, y); });
}

TEST(Update, AccumulationEqualsABiggerBatch) {
  test::FakeTask merged;
  test::FakeTask apart;
  test::FakeTask uneven;  // two parts, of which the second has three times the weight
  merged.dropout = apart.dropout = uneven.dropout = 0.0;
  merged.batches = {4};
  uneven.batches = {1, 3};
  TrainerConfig one = test::fake_config(10);
  TrainerConfig four = one;
  four.gradient_accumulation = 4;
  TrainerConfig two = one;
  two.gradient_accumulation = 2;
  Update whole(merged, one);
  Update parts(apart, four);
  Update unlike(uneven, two);
  for (std::int64_t step = 0; step < 5; ++step) {
    const auto a = whole.run(step, fixed_rate);
    for (Update* update : {&parts, &unlike}) {
      const auto b = update->run(step, fixed_rate);
      // Sums in another order: float32 rounding of values around 1.
      EXPECT_NEAR(a->loss, b->loss, 2e-6);
      EXPECT_NEAR(a->gradient_norm, b->gradient_norm, 2e-6 * std::max(1.0, a->gradient_norm));
    }
  }
}

TEST(Update, ClippingBoundsTheGradientThatIsApplied) {
  // The first moment after one step is (1 - beta1) times the clipped gradient.
  test::FakeTask task;
  TrainerConfig config = test::fake_config(10);
  config.clip_norm = 0.01;
  Update update(task, config);
  const auto result = update.run(0, fixed_rate);
  EXPECT_GT(result->gradient_norm, 0.01);
  double squares = 0.0;
  for (const auto& [name, moment] : update.optimizer().state()) {
    if (name.starts_with("first_moment.")) {
      squares += moment.square().sum().item<double>();
    }
  }
  EXPECT_NEAR(std::sqrt(squares), (1 - config.beta1) * 0.01, 1e-8);
}

TEST(Update, DependsOnSeedAndStepAlone) {
  const TrainerConfig config = test::fake_config(10);
  test::FakeTask one;
  test::FakeTask two;
  one.set_training(true);
  two.set_training(true);
  Update first(one, config);
  Update second(two, config);
  first.run(3, fixed_rate);
  torch::rand({17});
  second.run(3, fixed_rate);
  EXPECT_TRUE(same_weights(copies(one), copies(two)));
}

TEST(Update, ANumberThatIsNotFiniteStopsBeforeTheWeights) {
  test::FakeTask task;
  const TrainerConfig config = test::fake_config(10);
  Update update(task, config);
  const std::vector<at::Tensor> before = copies(task);
  task.loss_factor = std::numeric_limits<double>::quiet_NaN();
  test::expect_error(ErrorKind::kNumeric, {"loss", "nan", "step 8"}, [&] { update.run(7, fixed_rate); });
  task.loss_factor = 1e30;  // the loss is finite, its squared gradient is not
  test::expect_error(ErrorKind::kNumeric, {"gradient", "inf", "step 8"}, [&] { update.run(7, fixed_rate); });
  EXPECT_TRUE(same_weights(copies(task), before));
}

TEST(Update, AnInterruptWithinAStepChangesNothing) {
  const test::ClearedInterrupt cleared;
  const InterruptGuard guard;
  test::FakeTask task;
  TrainerConfig config = test::fake_config(10);
  config.gradient_accumulation = 3;
  Update update(task, config);
  const std::vector<at::Tensor> before = copies(task);
  task.on_loss = [](std::int64_t) { std::raise(SIGTERM); };
  EXPECT_FALSE(update.run(0, fixed_rate).has_value());
  EXPECT_TRUE(same_weights(copies(task), before));
  EXPECT_EQ(update.optimizer().steps(), 0);
}

}  // namespace
}  // namespace weft::training
