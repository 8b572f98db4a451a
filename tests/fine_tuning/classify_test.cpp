// SPDX-License-Identifier: Apache-2.0
// Classifiers beside transformers with torch's AdamW: the same losses step by step, and scikit-learn's figures on the
// same outputs.
#include "weft/fine_tuning/objectives/classify.h"

#include "fine_tuning/small_task.h"
#include "support/expect_error.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

class Classify : public test::SmallTask {
 protected:
  Json pairs() const {
    Json given = fields("classify", "classify", "pairs.csv");
    given["pair_field"] = "other";
    return given;
  }
};

TEST_F(Classify, LearnsAsTransformersDoes) {
  const training::TrainResult result = train(pairs());
  const Json reference = expected("classify");
  expect_losses(reference["losses"]);
  expect_figures(reference["figures"], result.evaluation);
}

TEST_F(Classify, WeighsClassesAndSmoothsLabelsAsTorchDoes) {
  Json given = pairs();
  given["class_weights"] = {"1", "2", "0.5"};
  given["label_smoothing"] = 0.1;
  train(given);
  expect_losses(expected("classify")["weighted_losses"]);
}

TEST_F(Classify, LearnsNumbersAsTransformersDoes) {
  const training::TrainResult result = train(fields("classify", "regression", "numbers.csv"));
  const Json reference = expected("regression");
  expect_losses(reference["losses"]);
  expect_figures(reference["figures"], result.evaluation);
}

TEST_F(Classify, TwoLabelsHaveFiguresOfTheSecond) {
  test::write_text(folder_ / "two.csv", "text,label\nhello,no\nworld,yes\nthe loom,yes\nshe said,no\n");
  Json given = fields("classify", "multilabel", "pairs.csv");
  given["train_data"] = given["eval_data"] = {(folder_ / "two.csv").string()};
  given["model"] = headless();
  given["steps"] = 1;
  const training::TrainResult result = train(given);
  for (const char* name : {"accuracy", "f1", "precision", "recall", "f1_macro", "f1_micro", "matthews", "loss"}) {
    EXPECT_TRUE(result.evaluation.contains(name)) << name;
  }
  const Json config = formats::read_json(folder_ / "run/config.json");
  EXPECT_EQ(config["id2label"], (Json{{"0", "no"}, {"1", "yes"}}));
  EXPECT_EQ(config["problem_type"], "single_label_classification");
}

TEST_F(Classify, MeasuresAFinishedModel) {
  const training::TrainResult result = train(pairs());
  Measurement measurement;
  measurement.task = "classify";
  measurement.directory = folder_ / "run";
  measurement.data = {(test::kFineTuning / "pairs.csv").string()};
  measurement.settings.pair_field = "other";
  measurement.dtype = "float32";
  std::vector<Json> lines;
  const Measured measured = measure(measurement, [&](const Json& line) { lines.push_back(line); });
  EXPECT_EQ(measured.figures, result.evaluation);
  const Json predicted = expected("classify")["predicted"];
  ASSERT_EQ(lines.size(), predicted.size());
  const std::vector<std::string> names = {"bad", "fair", "good"};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["label"], names[predicted[i].get<std::size_t>()]) << i;
  }
  EXPECT_EQ(measured.details["labels"].size(), 3U);
}

TEST_F(Classify, RefusesWhatDoesNotGoTogether) {
  Json given = fields("classify", "regression", "pairs.csv");
  test::expect_error(ErrorKind::kArgument, {"pairs.csv' line 2", "number"}, [&] { train(given); });
  given["label_smoothing"] = 0.1;
  test::expect_error(ErrorKind::kArgument, {"label_smoothing", "regression"}, [&] { train(given); });
  test::write_text(folder_ / "new.csv", "text,label\nhello,excellent\nworld,good\n");
  given = pairs();
  given.erase("pair_field");
  given["model"] = (folder_ / "classify").string();
  given["eval_data"] = {(folder_ / "new.csv").string()};
  test::expect_error(ErrorKind::kArgument, {"new.csv' line 2", "'excellent'", "'fair'"}, [&] { train(given); });
  given["train_data"] = given["eval_data"];
  test::expect_error(ErrorKind::kArgument, {"'excellent'", "'bad', 'fair', 'good'"}, [&] { train(given); });
  given["class_weights"] = {"1", "2"};
  given["train_data"] = {(test::kFineTuning / "pairs.csv").string()};
  test::expect_error(ErrorKind::kArgument, {"class_weights", "3", "2"}, [&] { train(given); });
}

}  // namespace
}  // namespace weft::fine_tuning
