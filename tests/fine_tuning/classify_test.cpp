// SPDX-License-Identifier: Apache-2.0
// Classifiers beside transformers with torch's AdamW: the same losses step by step, and scikit-learn's figures on the
// same outputs.
#include "weft/fine_tuning/objectives/classify.h"

#include <string>
#include <vector>

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

// Whatever this processor is fast at: the figures of a run are those of its own evaluation.
TEST_F(Classify, AFinishedModelIsMeasuredInWhatItLearnedIn) {
  for (const char* dtype : {"float32", "bfloat16"}) {
    Json given = pairs();
    given["dtype"] = dtype;
    given["steps"] = 2;
    const training::TrainResult result = train(given, dtype);
    Measurement measurement;
    measurement.task = "classify";
    measurement.directory = folder_ / dtype;
    measurement.data = {(test::kFineTuning / "pairs.csv").string()};
    measurement.settings.pair_field = "other";
    const Measured measured = measure(measurement);
    EXPECT_EQ(measured.dtype, dtype);
    EXPECT_EQ(measured.figures, result.evaluation);
    measurement.dtype = dtype == std::string("float32") ? "bfloat16" : "float32";
    EXPECT_NE(measure(measurement).figures["loss"], result.evaluation["loss"]);
  }
}

TEST_F(Classify, PredictionsSayWhereTheirRecordsAreFrom) {
  test::write_text(folder_ / "two.csv", "text,label,ID\nhello,no,a7\n\"wo\nrld\",yes,b\n");
  test::write_text(folder_ / "more.jsonl", R"({"id": 12, "text": "the loom", "label": "yes"})");
  Json given = fields("classify", "multilabel", "pairs.csv");
  given["train_data"] = {(folder_ / "two.csv").string()};
  given["eval_data"] = Json::array();
  given["model"] = headless();
  given["steps"] = 1;
  train(given);
  Measurement measurement;
  measurement.task = "classify";
  measurement.directory = folder_ / "run";
  measurement.data = {(folder_ / "two.csv").string(), (folder_ / "more.jsonl").string()};
  std::vector<Json> lines;
  measure(measurement, [&](const Json& line) { lines.push_back(line); });
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["file"], (folder_ / "two.csv").string());
  EXPECT_EQ(lines[0]["line"], 2);
  EXPECT_EQ(lines[0]["id"], "a7");
  EXPECT_EQ(lines[1]["text"], "wo\nrld");
  EXPECT_EQ(lines[2]["id"], 12);
  EXPECT_EQ(lines[2]["truth"], "yes");
}

// One text has one prediction, whatever its labels.
TEST_F(Classify, AModelThatSaysTheSameOfEverythingIsDoubted) {
  test::write_text(folder_ / "same.csv", "text,other,label\nhello,world,good\nhello,world,bad\nhello,world,fair\n");
  Json given = pairs();
  given["steps"] = 1;
  given["eval_data"] = {(folder_ / "same.csv").string()};
  ::testing::internal::CaptureStderr();
  train(given);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("for each of the 3 held-out texts, of which 2 have another label"), std::string::npos) << said;
  Measurement measurement;
  measurement.task = "classify";
  measurement.directory = folder_ / "run";
  measurement.data = {(folder_ / "same.csv").string()};
  measurement.settings.pair_field = "other";
  EXPECT_TRUE(measure(measurement).doubt.starts_with("the model predicts '")) << measure(measurement).doubt;
  test::write_text(folder_ / "same.csv", "text,other,label\nhello,world,good\nhello,world,good\n");
  const Measured even = measure(measurement);
  EXPECT_EQ(even.doubt.empty(), even.figures["accuracy"] == 1.0) << even.doubt;
  test::write_text(folder_ / "numbers.csv", "text,label\nhello,1\nhello,2.5\n");
  given = fields("classify", "regression", "numbers.csv");
  given["eval_data"] = {(folder_ / "numbers.csv").string()};
  given["steps"] = 1;
  train(given, "numbers");
  measurement.directory = folder_ / "numbers";
  measurement.data = {(folder_ / "numbers.csv").string()};
  measurement.settings.pair_field.clear();
  EXPECT_NE(measure(measurement).doubt.find("whose numbers go from 1 to 2.5"), std::string::npos);
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
