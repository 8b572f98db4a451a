// SPDX-License-Identifier: Apache-2.0
// The best evaluation, by figures that should fall and figures that should rise, and runs that keep it or give up.
#include "weft/training/best_figure.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "training/fake_task.h"
#include "weft/training/trainer.h"

namespace weft::training {
namespace {

using formats::Json;

TEST(BestFigure, CountsEvaluationsWithoutABetterOne) {
  BestFigure best("f1");
  EXPECT_TRUE(best.json().empty());
  EXPECT_TRUE(best.consider(10, {{"f1", 0.5}}));
  EXPECT_FALSE(best.consider(20, {{"f1", 0.5}}));
  EXPECT_FALSE(best.consider(30, {{"f1", nullptr}}));
  EXPECT_EQ(best.since_best(), 2);
  EXPECT_TRUE(best.consider(40, {{"f1", 0.6}}));
  EXPECT_EQ(best.since_best(), 0);
  EXPECT_EQ(best.json().at("step"), 40);
  BestFigure undefined("f1");
  EXPECT_FALSE(undefined.consider(10, {{"f1", nullptr}}));
  EXPECT_FALSE(undefined.consider(20, {{"f1", nullptr}}));
  EXPECT_EQ(undefined.since_best(), 0);  // a run does not give up a figure that it has not had
  EXPECT_TRUE(undefined.json().empty());
  EXPECT_TRUE(undefined.consider(30, {{"f1", 0.1}}));
  BestFigure loss("loss");
  EXPECT_TRUE(loss.consider(1, {{"loss", 2.0}}));
  EXPECT_FALSE(loss.consider(2, {{"loss", 3.0}}));
  EXPECT_FALSE(BestFigure("").consider(1, {{"loss", 1.0}}));
  test::expect_error(ErrorKind::kArgument, {"'f2'", "f1, loss"},
                     [] { BestFigure("f2").consider(1, {{"f1", 1.0}, {"loss", 1.0}}); });
}

TrainerConfig evaluated_config() {
  TrainerConfig config = test::fake_config(60);
  config.eval_every = 5;
  config.best_metric = "mean_squared_error";
  return config;
}

TEST(BestModel, IsKeptBesideTheLast) {
  const test::TemporaryDirectory folder;
  const TrainResult result =
      Trainer::start(folder / "run", evaluated_config(), std::make_shared<test::FakeTask>()).run();
  EXPECT_EQ(result.steps, 60);
  const Json best = formats::read_json(folder / "run/best/best.json");
  EXPECT_EQ(best, result.best);
  double smallest = 1e9;
  for (const Json& line : formats::read_json_lines(folder / "run/metrics.jsonl")) {
    smallest = line.contains("eval") ? std::min(smallest, line["eval"]["mean_squared_error"].get<double>()) : smallest;
  }
  EXPECT_EQ(best.at("value").get<double>(), smallest);
  EXPECT_TRUE(std::filesystem::exists(folder / "run/best/model.safetensors"));
}

TEST(BestModel, ARunThatGetsNoBetterStops) {
  const test::TemporaryDirectory folder;
  TrainerConfig config = evaluated_config();
  config.early_stopping = 2;
  config.learning_rate = 0.0;  // every evaluation is alike
  const TrainResult result = Trainer::start(folder / "run", config, std::make_shared<test::FakeTask>()).run();
  EXPECT_EQ(result.steps, 15);
  EXPECT_EQ(result.best.at("step"), 5);
  EXPECT_EQ(RunDirectory::open(folder / "run").latest().step, 15);
  // A resumed run knows from its log that it is over.
  const auto task = std::make_shared<test::FakeTask>();
  Trainer again = Trainer::resume(RunDirectory::open(folder / "run"), config, task);
  EXPECT_EQ(again.run().steps, 15);
  EXPECT_EQ(task->evaluations, 0);
}

}  // namespace
}  // namespace weft::training
