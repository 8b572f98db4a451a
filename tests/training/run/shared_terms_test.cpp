// SPDX-License-Identifier: Apache-2.0
// What processes compare before they compute, what a run that goes on is held to, and files that change meanwhile; two
// real processes differ in tests/cli.
#include "weft/training/run/shared_terms.h"

#include <chrono>
#include <filesystem>

#include <gtest/gtest.h>

#include "data/text_files.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "training/fake_task.h"
#include "weft/training/processes/agreement.h"
#include "weft/training/run/training_files.h"
#include "weft/training/run_state.h"

namespace weft::training {
namespace {

using formats::Json;

TEST(SharedTerms, HoldSettingsDataAndShapes) {
  const test::TemporaryDirectory folder;
  test::write_text(folder / "held_out/a", "text");
  Json training = {{"learning_rate", 0.5},
                   {"steps", 3},
                   {"threads", 7},
                   {"train_text", {"/somewhere"}},
                   {"eval_text", {(folder / "held_out").string()}}};
  test::FakeTask task;
  const Json terms = shared_terms(training, task);
  EXPECT_EQ(terms.at("learning_rate"), 0.5);
  EXPECT_EQ(terms.at("steps"), 3);
  EXPECT_EQ(terms.at("training data (tokens)"), 1000);
  EXPECT_EQ(terms.at("weights 'weight' of shape"), "64 x 3");
  EXPECT_FALSE(terms.contains("threads"));
  EXPECT_FALSE(terms.contains("train_text"));
  // Elsewhere, the same; with one byte more, not.
  test::write_text(folder / "other", "text");
  training["eval_text"] = {(folder / "other").string()};
  EXPECT_EQ(differing_terms(shared_terms(training, task), terms, 1), "");
  test::write_text(folder / "other", "text!");
  const std::string found = differing_terms(shared_terms(training, task), terms, 1);
  EXPECT_NE(found.find("process 1 trains with the content of eval_text \"xxh3-128:"), std::string::npos) << found;
}

TEST(SharedTerms, DifferencesAreNamedWithBothValues) {
  const Json first = {{"learning_rate", 0.001}, {"seed", 0}, {"clip_norm", 1.0}, {"dtype", "float32"}, {"steps", 5}};
  EXPECT_EQ(differing_terms(first, first, 2), "");
  Json own = first;
  own["learning_rate"] = 0.01;
  EXPECT_EQ(differing_terms(own, first, 2), "process 2 trains with learning_rate 0.01, process 0 with 0.001");
  own.erase("seed");
  own["attention"] = {"causal"};
  EXPECT_EQ(differing_terms(own, first, 2),
            "process 2 trains with learning_rate 0.01, process 0 with 0.001; process 2 trains without seed, process 0 "
            "with 0; process 2 trains with attention [\"causal\"], process 0 without");
  own["dtype"] = std::string(1000, 'x') + "\x1b[31m\n";
  own["steps"] = 6;
  const std::string found = differing_terms(own, first, 2);
  EXPECT_TRUE(found.ends_with("; and 2 more")) << found;
  EXPECT_LT(found.size(), 600U);
  EXPECT_EQ(found.find_first_of("\x1b\n"), std::string::npos);
}

TEST(LastingSettings, AreThoseThatDecideWhatAStepLearns) {
  const Json training = training_json(test::fake_config(3), test::FakeTask());
  const Json lasting = lasting_settings(training);
  for (const char* name : {"steps", "minutes", "threads", "train_text", "eval_every", "weft_version"}) {
    EXPECT_FALSE(lasting.contains(name)) << name;
  }
  for (const char* name : {"learning_rate", "seed", "clip_norm", "optimizer", "dtype", "batch_size", "processes"}) {
    EXPECT_TRUE(lasting.contains(name)) << name;
  }
  Json now = training;
  now["steps"] = 4;
  check_lasting(lasting, now, "run/state.json");
  now["seed"] = 9;
  test::expect_error(ErrorKind::kArgument, {"run/state.json", "seed was 0", "has 9"},
                     [&] { check_lasting(lasting, now, "run/state.json"); });
}

TEST(TrainingFiles, AChangeIsSaidOnce) {
  const test::TemporaryDirectory folder;
  test::write_text(folder / "text/a", "one");
  test::write_text(folder / "text/b", "two");
  test::write_text(folder / "pairs.tsv", "three");
  TrainingFiles files({{"train_text", {(folder / "text").string()}}, {"train_data", (folder / "pairs.tsv").string()}});
  const auto said = [&] {
    ::testing::internal::CaptureStderr();
    files.warn_of_changes();
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said(), "");
  std::filesystem::last_write_time(folder / "text/b",
                                   std::filesystem::last_write_time(folder / "text/b") + std::chrono::seconds(1));
  const std::string line = said();
  EXPECT_NE(line.find("text/b' was written or removed since this run began"), std::string::npos) << line;
  EXPECT_EQ(said(), "");
  test::write_text(folder / "text/a", "longer");
  std::filesystem::remove(folder / "pairs.tsv");
  EXPECT_NE(said().find("text/a' and 1 more files to train on were written"), std::string::npos);
}

}  // namespace
}  // namespace weft::training
