// SPDX-License-Identifier: Apache-2.0
// Whose run a directory is, and in what its model is computed where nobody says it.
#include "weft/training/run/run_of_model.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "data/text_files.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/training/trainer_config.h"

namespace weft::training {
namespace {

namespace fs = std::filesystem;

class RunOfModel : public ::testing::Test {
 protected:
  fs::path directory(const std::string& name, const std::string& training = {}) const {
    fs::create_directories(folder_ / name);
    if (!training.empty()) {
      test::write_text(folder_ / name / "training.json", training);
    }
    return folder_ / name;
  }
  test::TemporaryDirectory folder_;
};

TEST_F(RunOfModel, ARunItsBestModelAndItsCheckpointsAreOneRun) {
  const fs::path run = fs::canonical(directory("run", R"({"weft_version": "0.1.0", "dtype": "bfloat16"})"));
  fs::create_directory_symlink(run / "best", folder_ / "link");
  for (const char* name : {"run", "run/", "run/best", "run/checkpoints/step-5", "run/checkpoints/../best/"}) {
    directory(name);
    EXPECT_EQ(run_of(folder_ / name), run) << name;
    EXPECT_EQ(run_dtype(folder_ / name), "bfloat16") << name;
  }
  EXPECT_EQ(run_of(folder_ / "link"), run);
  for (const char* name : {"run/other", "run/checkpoints", "best", "step-5"}) {
    EXPECT_EQ(run_of(directory(name)), fs::path()) << name;
  }
}

TEST_F(RunOfModel, TheTypeOfTheRunIsThatOfItsModelUnlessAnotherIsGiven) {
  const fs::path narrow = directory("narrow", R"({"weft_version": "0.1.0", "dtype": "bfloat16"})");
  const fs::path wide = directory("wide", R"({"weft_version": "0.1.0", "dtype": "float32"})");
  const fs::path published = directory("published");
  for (const char* usual : {"run", "auto"}) {
    EXPECT_EQ(dtype_of_model(usual, narrow), "bfloat16");
    EXPECT_EQ(dtype_of_model(usual, wide), "float32");
  }
  EXPECT_EQ(dtype_of_model("float32", narrow), "float32");
  EXPECT_EQ(dtype_of_model("bfloat16", wide), "bfloat16");
  EXPECT_EQ(dtype_of_model("run", published), "float32");
  EXPECT_EQ(dtype_of_model("auto", published), resolved_dtype("auto"));
}

TEST_F(RunOfModel, OtherFilesOfThatNameSayNothing) {
  EXPECT_EQ(run_dtype(directory("foreign", R"({"dtype": "int4"})")), std::nullopt);
  EXPECT_EQ(run_dtype(directory("earlier", R"({"weft_version": "0.1.0"})")), std::nullopt);
  const fs::path wrong = directory("wrong", R"({"weft_version": "0.1.0", "dtype": "float16"})");
  test::expect_error(ErrorKind::kFormat, {"training.json", "dtype", "'float16'"}, [&] { run_dtype(wrong); });
  EXPECT_EQ(dtype_of_model("float32", wrong), "float32");
}

}  // namespace
}  // namespace weft::training
