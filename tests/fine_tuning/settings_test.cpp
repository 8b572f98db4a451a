// SPDX-License-Identifier: Apache-2.0
// Plans out of fields: defaults, places, formats, tasks.
#include "weft/fine_tuning/settings.h"

#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "data/text_files.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/fine_tuning/objective.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

Json least() { return {{"model", "m"}, {"train_data", {"d.csv"}}, {"epochs", 1}}; }

TEST(FineTuningSettings, BeginFromDefaultsOfTheirOwn) {
  const RunSettings settings = make_settings(least(), "flags");
  EXPECT_EQ(settings.trainer.learning_rate, 5e-5);
  EXPECT_EQ(settings.trainer.schedule, "linear");
  EXPECT_EQ(settings.trainer.batch_size, 32);
  EXPECT_EQ(settings.trainer.beta2, 0.999);
  Json given = least();
  given["learning_rate"] = 1e-3;
  given["beta2"] = 0.95;
  EXPECT_EQ(make_settings(given, "flags").trainer.learning_rate, 1e-3);
  EXPECT_EQ(make_settings(given, "flags").trainer.beta2, 0.95);
}

TEST(FineTuningSettings, PlacesAreAbsoluteAndKeepTheirLabels) {
  Json given = least();
  given["train_data"] = {"1=a/../tata.fa", "other.fa"};
  given["task"] = "multilabel";
  given["label_groups"] = "groups.json";
  const RunSettings settings = make_settings(given, "flags");
  const std::string here = std::filesystem::current_path().string() + "/";
  EXPECT_EQ(settings.task.model, here + "m");
  EXPECT_EQ(settings.task.train_data, (std::vector<std::string>{"1=" + here + "tata.fa", here + "other.fa"}));
  EXPECT_EQ(settings.data.label_groups, here + "groups.json");
  EXPECT_EQ(resolved(settings.task).train_data, settings.task.train_data);
}

TEST(FineTuningSettings, PlacesThatNoJsonHoldsAreRefusedBeforeTheyAreRead) {
  for (const char* name : {"train_data", "eval_data", "model"}) {
    Json given = least();
    if (name == std::string("model")) {
      given[name] = "d\xFF.csv";
    } else {
      given[name] = {"d\xFF.csv"};
    }
    test::expect_error(ErrorKind::kArgument, {"d\\xff.csv'", "UTF-8"}, [&] { make_settings(given, "flags"); });
  }
  Json given = least();
  given["train_data"] = {"\xFF=d.csv"};
  test::expect_error(ErrorKind::kArgument, {"label '\\xff'", "UTF-8"}, [&] { make_settings(given, "flags"); });
}

TEST(FineTuningSettings, ALabelStandsBeforeTheFirstEqualsSign) {
  EXPECT_EQ(parse_data_path("x=y=z").label, "x");
  EXPECT_EQ(parse_data_path("x=y=z").path, "y=z");
  EXPECT_FALSE(parse_data_path("=x").labelled);
  EXPECT_FALSE(parse_data_path("x").labelled);
  const test::TemporaryDirectory folder;
  test::write_text(folder / "a=b", "");
  EXPECT_FALSE(parse_data_path((folder / "a=b").string()).labelled);
}

TEST(FineTuningSettings, EveryTaskIsInTheTableAndNamesItsFormats) {
  EXPECT_EQ(task_names().size(), task_table().size());
  for (const TaskEntry& entry : task_table()) {
    EXPECT_TRUE(is_fine_tuning_task(entry.name));
    check_data(entry.name, DataSettings());
  }
  EXPECT_FALSE(is_fine_tuning_task("lm"));
  DataSettings tables;
  tables.format = "tsv";
  check_data("classify", tables);
  for (const char* task : {"tag", "answer", "choose"}) {
    test::expect_error(ErrorKind::kArgument, {"format", task, "tsv"}, [&] { check_data(task, tables); });
  }
  test::expect_error(ErrorKind::kArgument, {"sing"}, [&] { check_data("sing", tables); });
}

TEST(FineTuningSettings, AFieldThatATaskDoesNotReadIsRefused) {
  const std::vector<std::tuple<std::string, std::string, Json>> wrong = {{"classify", "label_groups", "groups.json"},
                                                                         {"embed", "both_strands", true},
                                                                         {"tag", "null_threshold", 3.0},
                                                                         {"classify", "stride", 4},
                                                                         {"tag", "max_answer_length", 5},
                                                                         {"answer", "pair_field", "second"},
                                                                         {"choose", "text_field", "body"},
                                                                         {"classify", "score_max", 5.0},
                                                                         {"rerank", "stride", 0}};
  for (const auto& [task, field, value] : wrong) {
    Json given = least();
    given["task"] = task;
    given[field] = value;
    test::expect_error(ErrorKind::kArgument, {field + " is for", "found " + task},
                       [&] { make_settings(given, "flags"); });
    given[field] = formats::to_json(DataSettings())[field];  // the usual value says nothing
    make_settings(given, "flags");
  }
}

TEST(FineTuningSettings, ARunEndsInOneWay) {
  Json given = least();
  given["minutes"] = 2.0;
  test::expect_error(ErrorKind::kArgument, {"epochs 1", "minutes 2"}, [&] { make_settings(given, "flags"); });
  given.erase("epochs");
  EXPECT_EQ(make_settings(given, "flags").trainer.minutes, 2.0);
  given.erase("minutes");
  test::expect_error(ErrorKind::kArgument, {"epochs", "steps", "minutes"}, [&] { make_settings(given, "flags"); });
}

TEST(FineTuningSettings, FoldsAreTwoOrMore) {
  DataSettings data;
  check_folds(data, "flags");
  data.folds = 1;
  test::expect_error(ErrorKind::kArgument, {"flags", "folds 1"}, [&] { check_folds(data, "flags"); });
  data.folds = 3;
  data.fold = 2;
  check_folds(data, "flags");
  data.fold = 3;
  test::expect_error(ErrorKind::kArgument, {"fold 3"}, [&] { check_folds(data, "flags"); });
  data.folds = 0;
  data.fold = 2;
  test::expect_error(ErrorKind::kArgument, {"folds 0 and fold 2"}, [&] { check_folds(data, "flags"); });
}

}  // namespace
}  // namespace weft::fine_tuning
