// SPDX-License-Identifier: Apache-2.0
// The one decision of a training: which of nine ways to train a run is, from options and from what directories hold.
#include "weft/runs/train/request.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/core/system/usage_error.h"

namespace weft::runs {
namespace {

const std::string kEarlier = WEFT_TEST_DATA_DIR "/earlier";

TrainOptions options_for(const std::string& out, const std::string& task = "", const std::string& model = "") {
  TrainOptions options;
  options.out = out;
  options.task = task;
  if (!model.empty()) {
    options.given["model"] = model;
  }
  return options;
}

TrainRequest only(const TrainOptions& options) {
  const std::vector<TrainRequest> requests = decide(options);
  EXPECT_EQ(requests.size(), 1U);
  return requests.front();
}

TEST(TrainRequest, NewRuns) {
  const TrainRequest decoder = only(options_for("run"));
  EXPECT_EQ(decoder.training, Training::kNewModel);
  EXPECT_EQ(decoder.task, "lm");
  EXPECT_EQ(decoder.fields.at("is_decoder"), true);
  TrainOptions options = options_for("run");
  options.encoder = true;
  const TrainRequest encoder = only(options);
  EXPECT_EQ(encoder.training, Training::kNewModel);
  EXPECT_EQ(encoder.task, "mlm");
  EXPECT_EQ(encoder.fields.at("is_decoder"), false);
  EXPECT_EQ(only(options_for("run", "lm", kEarlier + "/decoder")).training, Training::kFurtherModel);
  EXPECT_EQ(only(options_for("run", "mlm", kEarlier + "/masked")).training, Training::kFurtherEncoder);
  const TrainRequest task = only(options_for("run", "classify", kEarlier + "/masked"));
  EXPECT_EQ(task.training, Training::kFineTuning);
  EXPECT_EQ(task.fields.at("task"), "classify");
}

TEST(TrainRequest, ResumedRuns) {
  TrainOptions options = options_for(kEarlier + "/decoder");
  options.resume = true;
  EXPECT_EQ(only(options).training, Training::kResumedModel);
  options.out = kEarlier + "/classifier";
  EXPECT_EQ(only(options).training, Training::kResumedFineTuning);
  EXPECT_EQ(only(options).task, "classify");
  options.out = kEarlier + "/masked";
  options.task = "mlm";
  EXPECT_EQ(only(options).training, Training::kResumedEncoder);
}

TEST(TrainRequest, ARunForEverySeed) {
  const test::TemporaryDirectory folder;
  TrainOptions options = options_for((folder / "runs").string());
  options.seeds = 2;
  options.given["seed"] = 3;
  const std::vector<TrainRequest> requests = decide(options);
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].out, (folder / "runs/seed-3").string());
  EXPECT_EQ(requests[1].out, (folder / "runs/seed-4").string());
  EXPECT_EQ(requests[1].fields.at("seed"), 4);
  // Resumed, a run that is there goes on, and one that is not begins.
  std::filesystem::create_directories(folder / "runs");
  std::filesystem::copy(kEarlier + "/decoder", folder / "runs/seed-3", std::filesystem::copy_options::recursive);
  options.resume = true;
  EXPECT_EQ(decide(options)[0].training, Training::kResumedModel);
  EXPECT_EQ(decide(options)[1].training, Training::kNewModel);
}

TEST(TrainRequest, WhatADirectoryDecides) {
  TrainOptions options = options_for("run", "lm", kEarlier + "/decoder");
  options.tokenizer_file = "tokenizer.json";
  EXPECT_THROW(decide(options), UsageError);
  options = options_for(kEarlier + "/decoder");
  options.resume = true;
  options.tokenizer_file = "tokenizer.json";
  EXPECT_THROW(decide(options), UsageError);
  options = options_for("run", "classify", kEarlier + "/masked");
  options.encoder = true;
  EXPECT_THROW(decide(options), UsageError);
  options = options_for("run", "classify", kEarlier + "/masked");
  options.given["context"] = 64;
  EXPECT_THROW(decide(options), UsageError);
}

TEST(TrainRequest, FieldsOfAFileAreHeard) {
  const test::TemporaryDirectory folder;
  write_file_atomically(folder / "config.json", R"({"seed": 3, "steps": 5})");
  TrainOptions options = options_for("run");
  options.config_file = (folder / "config.json").string();
  options.given["steps"] = 7;
  std::vector<std::string> heard;
  options.heard = [&](const std::string&, const std::vector<std::string>& fields) { heard = fields; };
  EXPECT_EQ(only(options).fields.at("steps"), 7);
  EXPECT_EQ(heard, std::vector<std::string>{"seed"});
}

}  // namespace
}  // namespace weft::runs
