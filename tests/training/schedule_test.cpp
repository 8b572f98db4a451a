// SPDX-License-Identifier: Apache-2.0
// Learning rates against values worked out by hand.
#include "weft/training/schedule.h"

#include <cmath>

#include <gtest/gtest.h>

namespace weft::training {
namespace {

TrainerConfig schedule_config(const std::string& schedule) {
  TrainerConfig config;
  config.learning_rate = 2.0;
  config.min_learning_rate_ratio = 0.1;
  config.schedule = schedule;
  config.steps = 110;
  config.warmup_steps = 10;
  return config;
}

double rate_at(const TrainerConfig& config, int step) {
  const auto steps = static_cast<double>(config.steps);
  return learning_rate(config, {step / steps, (step + 1) / steps});
}

// Rounding of a few operations in double.
constexpr double kRounding = 1e-12;

TEST(Schedule, WarmsUpInEqualSteps) {
  for (const char* schedule : {"cosine", "linear", "inverse_sqrt", "constant"}) {
    const TrainerConfig config = schedule_config(schedule);
    EXPECT_NEAR(rate_at(config, 0), 0.2, kRounding) << schedule;
    EXPECT_NEAR(rate_at(config, 4), 1.0, kRounding) << schedule;
    EXPECT_NEAR(rate_at(config, 9), 2.0, kRounding) << schedule;
  }
}

TEST(Schedule, Decays) {
  EXPECT_NEAR(rate_at(schedule_config("cosine"), 10), 2.0, kRounding);
  EXPECT_NEAR(rate_at(schedule_config("cosine"), 35), 0.2 + 0.9 * (1 + std::sqrt(0.5)), kRounding);
  EXPECT_NEAR(rate_at(schedule_config("cosine"), 60), 1.1, kRounding);
  EXPECT_NEAR(rate_at(schedule_config("linear"), 60), 1.1, kRounding);
  EXPECT_NEAR(rate_at(schedule_config("linear"), 85), 0.2 + 1.8 * 0.25, kRounding);
  EXPECT_NEAR(rate_at(schedule_config("constant"), 109), 2.0, kRounding);
  EXPECT_NEAR(rate_at(schedule_config("inverse_sqrt"), 39), 1.0, kRounding);
  EXPECT_NEAR(rate_at(schedule_config("inverse_sqrt"), 89), 2.0 / 3.0, kRounding);
}

TEST(Schedule, EndsAtTheFloor) {
  TrainerConfig config = schedule_config("cosine");
  EXPECT_NEAR(learning_rate(config, {1.0, 1.0}), 0.2, kRounding);
  config.schedule = "inverse_sqrt";
  config.min_learning_rate_ratio = 0.5;
  EXPECT_NEAR(learning_rate(config, {1.0, 1.0}), 1.0, kRounding);
}

TEST(Schedule, ByMinutesFollowsTheTime) {
  TrainerConfig config = schedule_config("linear");
  config.steps = 0;
  config.minutes = 5;
  config.warmup_steps = 0;
  config.warmup_ratio = 0.2;
  EXPECT_DOUBLE_EQ(warmup_part(config), 0.2);
  EXPECT_NEAR(learning_rate(config, {0.1, 0.1}), 1.0, kRounding);
  EXPECT_NEAR(learning_rate(config, {0.2, 0.2}), 2.0, kRounding);
  EXPECT_NEAR(learning_rate(config, {0.6, 0.6}), 1.1, kRounding);
}

TEST(Schedule, WarmUpMayBeNothingOrEverything) {
  TrainerConfig config = schedule_config("cosine");
  config.warmup_steps = 0;
  config.warmup_ratio = 0.0;
  EXPECT_NEAR(rate_at(config, 0), 2.0, kRounding);
  config.warmup_ratio = 1.0;
  EXPECT_NEAR(rate_at(config, 54), 1.0, kRounding);
  EXPECT_NEAR(rate_at(config, 109), 2.0, kRounding);
}

}  // namespace
}  // namespace weft::training
