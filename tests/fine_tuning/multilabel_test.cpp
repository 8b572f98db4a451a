// SPDX-License-Identifier: Apache-2.0
// Several labels beside transformers and scikit-learn, from tables of 0 and 1 and from lists of names.
#include "weft/fine_tuning/objectives/multilabel.h"

#include "fine_tuning/small_task.h"
#include "support/expect_error.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

class Multilabel : public test::SmallTask {
 protected:
  Json flags() const {
    Json given = fields("multilabel", "multilabel", "several.csv");
    given["label_field"] = {"blue", "[gr]*"};
    return given;
  }
};

TEST_F(Multilabel, LearnsAsTransformersDoes) {
  test::write_text(folder_ / "groups.json", R"({"warm": ["red"], "cold": ["blue", "green"]})");
  Json given = flags();
  given["label_groups"] = (folder_ / "groups.json").string();
  const training::TrainResult result = train(given);
  const Json reference = expected("multilabel");
  expect_losses(reference["losses"]);
  expect_figures(reference["figures"], result.evaluation);
  EXPECT_TRUE(result.evaluation.contains("roc_auc_cold"));
}

TEST_F(Multilabel, ReadsNamesFromJsonLines) {
  train(fields("multilabel", "multilabel", "several.jsonl"));
  expect_losses(expected("multilabel")["losses"]);
}

TEST_F(Multilabel, WeighsPositiveExamplesAsTorchDoes) {
  Json given = flags();
  given["class_weights"] = {"4", "1", "2"};
  train(given);
  expect_losses(expected("multilabel")["weighted_losses"]);
}

TEST_F(Multilabel, SaysEachLabelAndEachExample) {
  train(flags());
  Measurement measurement;
  measurement.task = "multilabel";
  measurement.directory = folder_ / "run";
  measurement.data = {(test::kFineTuning / "several.jsonl").string()};
  std::vector<Json> lines;
  const Measured measured = measure(measurement, [&](const Json& line) { lines.push_back(line); });
  EXPECT_EQ(measured.details["labels"].size(), 3U);
  EXPECT_EQ(measured.details["labels"][0]["label"], "blue");
  ASSERT_EQ(lines.size(), 12U);
  EXPECT_EQ(lines[0]["scores"].size(), 3U);
  EXPECT_TRUE(lines[0]["truth"].is_array());
  EXPECT_TRUE(lines[0]["text"].is_string());
  EXPECT_EQ(lines[11]["line"], 12);
  EXPECT_EQ(measured.doubt, "");
  // One text has one prediction, whatever its labels.
  test::write_text(folder_ / "same.jsonl",
                   "{\"text\": \"hello\", \"labels\": [\"blue\"]}\n"
                   "{\"text\": \"hello\", \"labels\": [\"red\"]}\n");
  measurement.data = {(folder_ / "same.jsonl").string()};
  EXPECT_NE(measure(measurement).doubt.find("for each of the 2 held-out texts, whose labels differ"),
            std::string::npos);
}

TEST_F(Multilabel, AnAreaOfOneClassIsUndefined) {
  test::write_text(folder_ / "one.jsonl",
                   "{\"text\": \"hello\", \"labels\": [\"red\"]}\n"
                   "{\"text\": \"world\", \"labels\": [\"red\"]}\n");
  Json given = flags();
  given["eval_data"] = {(folder_ / "one.jsonl").string()};
  given["steps"] = 1;
  given["label_field"] = {"blue", "green", "red"};
  test::expect_error(ErrorKind::kFormat, {"one.jsonl' line 1", "'blue'"}, [&] { train(given); });
  given.erase("label_field");
  given["model"] = (folder_ / "multilabel").string();
  given["train_data"] = {(test::kFineTuning / "several.jsonl").string()};
  const Prepared prepared = prepare(make_settings(given, "test"));
  const auto remarks = prepared.task->objective().remarks();
  ASSERT_EQ(remarks.size(), 1U);
  EXPECT_EQ(remarks[0].second,
            "no mean and no median of ROC-AUC counts 3 of 3 labels (that no example has: 'blue', 'green'; that every "
            "example has: 'red')");
  const training::TrainResult result = train(given);
  EXPECT_TRUE(result.evaluation["roc_auc"].is_null());
  EXPECT_TRUE(result.evaluation["roc_auc_median"].is_null());
}

TEST_F(Multilabel, SaysGroupsAndWhatTheyLeaveOut) {
  train(flags());
  test::write_text(folder_ / "groups.json", R"({"all": ["*"], "cold": ["bl*", "green"]})");
  test::write_text(folder_ / "few.jsonl",
                   "{\"text\": \"hello\", \"labels\": [\"blue\", \"red\"]}\n"
                   "{\"text\": \"she and see loom\", \"labels\": [\"red\"]}\n");
  Measurement measurement;
  measurement.task = "multilabel";
  measurement.directory = folder_ / "run";
  measurement.data = {(folder_ / "few.jsonl").string()};
  measurement.settings.label_groups = (folder_ / "groups.json").string();
  const Measured measured = measure(measurement);
  EXPECT_EQ(measured.details["groups"].size(), 2U);
  const Json& cold = measured.details["groups"][1];
  EXPECT_EQ(cold["group"], "cold");
  EXPECT_EQ(cold["labels"], 1);
  EXPECT_EQ(cold["without_roc_auc"], 1);
  EXPECT_EQ(cold["roc_auc"], measured.figures["roc_auc_cold"]);
  EXPECT_EQ(cold["roc_auc_median"], measured.figures["roc_auc_median_cold"]);
  EXPECT_EQ(measured.details["without_roc_auc"], (Json{{"no_example", {"green"}}, {"every_example", {"red"}}}));
  EXPECT_NE(measured.note.find("2 of 3 labels"), std::string::npos);
}

TEST_F(Multilabel, RefusesWhatItCannotMean) {
  Json given = flags();
  given["label_smoothing"] = 0.1;
  test::expect_error(ErrorKind::kArgument, {"label_smoothing"}, [&] { train(given); });
  given["label_smoothing"] = 0.0;
  test::write_text(folder_ / "groups.json", R"({"warm": "red"})");
  given["label_groups"] = (folder_ / "groups.json").string();
  test::expect_error(ErrorKind::kFormat, {"groups.json"}, [&] { train(given); });
  test::write_text(folder_ / "groups.json", R"({"warm": ["orange"]})");
  test::expect_error(ErrorKind::kArgument, {"warm", "'orange'", "'blue'"}, [&] { train(given); });
  test::write_text(folder_ / "flags.csv", "text,a,b\nhello,0,yes\n");
  given.erase("label_groups");
  given["train_data"] = {(folder_ / "flags.csv").string()};
  given["label_field"] = {"a", "b"};
  test::expect_error(ErrorKind::kFormat, {"flags.csv' line 2", "'b'", "0 or 1", "'yes'"}, [&] { train(given); });
}

}  // namespace
}  // namespace weft::fine_tuning
