// SPDX-License-Identifier: Apache-2.0
// Whole runs: resumed to the bit, held to their settings, with a new head where the model has none.
#include "weft/fine_tuning/fine_tune.h"

#include <csignal>

#include "fine_tuning/small_task.h"
#include "support/expect_error.h"
#include "weft/core/files.h"
#include "weft/fine_tuning/objectives/classify.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using formats::Json;

class FineTune : public test::SmallTask {
 protected:
  // Small batches of a model with dropout: everything random shows.
  Json shuffled() const {
    Json given = fields("classify", "classify", "pairs.csv");
    given["model"] = headless();
    given["pair_field"] = "other";
    given["batch_size"] = 5;
    given["steps"] = 12;
    given["checkpoint_every"] = 4;
    given["eval_every"] = 3;
    Json config = formats::read_json(folder_ / "headless/config.json");
    config["hidden_dropout_prob"] = 0.3;
    write_file_atomically(folder_ / "headless/config.json", config.dump());
    return given;
  }
  // A run whose process is killed before `step` is saved, as one by SIGKILL leaves it.
  void leave_at_checkpoint(const std::string& run, std::int64_t step) const {
    for (const auto& entry : fs::directory_iterator(folder_ / run / "checkpoints")) {
      if (std::stoll(entry.path().filename().string().substr(5)) > step) {
        fs::remove_all(entry.path());
      }
    }
  }
};

TEST_F(FineTune, AResumedRunEqualsOneNeverStopped) {
  Json given = shuffled();
  given["keep_checkpoints"] = 10;
  const training::TrainResult whole = train(given, "whole");
  train(given, "run");
  leave_at_checkpoint("run", 4);
  const training::TrainResult resumed = resume_fine_tuning(folder_ / "run", prepare_resumption(folder_ / "run", {}));
  EXPECT_EQ(test::logged_losses(folder_ / "run"), test::logged_losses(folder_ / "whole"));
  EXPECT_EQ(read_file(folder_ / "run/model.safetensors"), read_file(folder_ / "whole/model.safetensors"));
  EXPECT_EQ(resumed.evaluation, whole.evaluation);
  EXPECT_EQ(resumed.tokens, whole.tokens);
}

TEST_F(FineTune, AResumedRunIsHeldToItsSettings) {
  train(shuffled());
  const auto refuse = [&](const Json& given, std::initializer_list<std::string_view> words) {
    test::expect_error(ErrorKind::kArgument, words, [&] { prepare_resumption(folder_ / "run", given); });
  };
  refuse({{"learning_rate", 1.0}}, {"training.json", "learning_rate", "0.03"});
  refuse({{"max_length", 12}}, {"training.json", "max_length", "12"});
  refuse({{"task", "multilabel"}}, {"task", "classify"});
  refuse({{"hidden_size", 12}}, {"hidden_size"});
  test::write_text(folder_ / "other.csv", "text,other,label\nhello,world,good\n");
  const Prepared other = prepare_resumption(folder_ / "run", {{"train_data", {(folder_ / "other.csv").string()}}});
  test::expect_error(ErrorKind::kArgument, {"train_data", "rows", "12", "1"},
                     [&] { resume_fine_tuning(folder_ / "run", other); });
  prepare_resumption(folder_ / "run", {{"learning_rate", 0.03}, {"log_every", 2}, {"on_error", "skip"}});
}

TEST_F(FineTune, EpochsBecomeSteps) {
  Json given = shuffled();
  given["steps"] = 0;
  given["epochs"] = 2;
  const Prepared prepared = prepare(make_settings(given, "test"));
  EXPECT_EQ(prepared.settings.trainer.steps, 6);  // 12 examples in batches of 5
  EXPECT_EQ(prepared.epoch_steps, 3);
  given["gradient_accumulation"] = 4;
  EXPECT_EQ(prepare(make_settings(given, "test")).settings.trainer.steps, 2);
  given["steps"] = 7;
  test::expect_error(ErrorKind::kArgument, {"epochs 2", "2 steps", "7"},
                     [&] { prepare(make_settings(given, "test")); });
  given["minutes"] = 1.0;
  test::expect_error(ErrorKind::kArgument, {"epochs", "steps", "minutes"}, [&] { make_settings(given, "test"); });
}

TEST_F(FineTune, ARunCanGoOnForMoreEpochsOrSteps) {
  Json given = shuffled();
  given["steps"] = 0;
  given["epochs"] = 2;
  train(given);
  const auto resume = [&](const Json& fields) {
    return resume_fine_tuning(folder_ / "run", prepare_resumption(folder_ / "run", fields)).steps;
  };
  EXPECT_EQ(resume(Json::object()), 6);
  EXPECT_EQ(resume({{"epochs", 3}}), 9);
  EXPECT_EQ(formats::read_json(folder_ / "run/training.json")["epochs"], 3);
  EXPECT_EQ(resume({{"steps", 11}}), 11);
  const Json settings = formats::read_json(folder_ / "run/training.json");
  EXPECT_EQ(settings["epochs"], 0) << "the steps say how long it is";
  EXPECT_EQ(settings["steps"], 11);
  test::expect_error(ErrorKind::kArgument, {"steps", "at least 11", "found 3"}, [&] { resume({{"epochs", 1}}); });
  EXPECT_EQ(test::logged_losses(folder_ / "run").size(), 11U);
}

TEST_F(FineTune, AWrongFigureIsRefusedBeforeTheTraining) {
  Json given = shuffled();
  given["best_metric"] = "acuracy";
  test::expect_error(ErrorKind::kArgument, {"acuracy", "accuracy", "matthews"}, [&] { train(given); });
  EXPECT_FALSE(fs::exists(folder_ / "run"));
  given.erase("eval_data");
  given["best_metric"] = "accuracy";
  test::expect_error(ErrorKind::kArgument, {"accuracy", "without held-out data"}, [&] { train(given); });
}

TEST_F(FineTune, ABatchIsCountedInTokensOrExamples) {
  Json given = shuffled();
  given["batch_tokens"] = 40;
  const Prepared prepared = prepare(make_settings(given, "test"));
  for (std::int64_t step = 0; step < 10; ++step) {
    EXPECT_LE(prepared.task->tokens(step, 0), 40);
  }
  given["batch_tokens"] = 10;
  test::expect_error(ErrorKind::kArgument, {"10", "budget"}, [&] { prepare(make_settings(given, "test")); });
}

TEST_F(FineTune, TextsBeyondTheModelAreAnErrorOrAreCut) {
  Json given = shuffled();
  given["max_length"] = 12;
  test::expect_error(ErrorKind::kArgument, {"pairs.csv' line", "tokens", "at most 12"},
                     [&] { prepare(make_settings(given, "test")); });
  given["truncate"] = true;
  const Prepared prepared = prepare(make_settings(given, "test"));
  EXPECT_GT(prepared.training.cut, 0);
  EXPECT_GT(prepared.training.left_out, prepared.training.cut);
  EXPECT_EQ(prepared.training.records.records, 12);
}

TEST_F(FineTune, ANewHeadIsNamedAndDependsOnTheSeed) {
  Json given = shuffled();
  given["steps"] = 1;
  const Prepared prepared = prepare(make_settings(given, "test"));
  EXPECT_TRUE(prepared.head.fresh);
  EXPECT_EQ(prepared.new_tensors, (std::vector<std::string>{"classifier.weight", "classifier.bias"}));
  EXPECT_EQ(prepared.head.labels, (std::vector<std::string>{"bad", "fair", "good"}));
  train(given, "one");
  given["seed"] = 1;
  train(given, "two");
  EXPECT_NE(test::logged_losses(folder_ / "one"), test::logged_losses(folder_ / "two"));
}

TEST_F(FineTune, TheBestModelIsKeptByAFigureOfTheTask) {
  Json given = shuffled();
  given["best_metric"] = "accuracy";
  const training::TrainResult result = train(given);
  EXPECT_EQ(result.best["metric"], "accuracy");
  EXPECT_TRUE(fs::exists(folder_ / "run/best/vocab.txt"));
  given["best_metric"] = "roc_auc";
  test::expect_error(ErrorKind::kArgument, {"roc_auc", "accuracy", "matthews"}, [&] { train(given, "other"); });
}

TEST_F(FineTune, TheSettingsOfARunSayWhatItWas) {
  train(shuffled());
  const Json settings = formats::read_json(folder_ / "run/training.json");
  EXPECT_EQ(settings["task"], "classify");
  EXPECT_EQ(settings["pair_field"], "other");
  EXPECT_EQ(settings["learning_rate"], 0.03);
  Json fields = settings;
  fields.erase("weft_version");
  fields.erase("torch_version");
  const RunSettings again = make_settings(fields, "test");
  EXPECT_EQ(formats::to_json(again.task), formats::only_fields_of<FineTuningConfig>(settings));
  EXPECT_EQ(formats::to_json(again.trainer), formats::only_fields_of<training::TrainerConfig>(settings));
}

TEST_F(FineTune, APresetIsATableThatFlagsWinOver) {
  const Json given = {{"task", "classify"}, {"model", "m"}, {"train_data", {"d"}}, {"preset", "bigbird-imdb"}};
  const RunSettings settings = make_settings(given, "test");
  EXPECT_EQ(settings.trainer.steps, 16000);
  EXPECT_EQ(settings.trainer.warmup_steps, 1000);
  EXPECT_EQ(settings.trainer.learning_rate, 1e-5);
  EXPECT_EQ(settings.trainer.weight_decay, 0.01);
  EXPECT_EQ(settings.data.max_length, 4096);
  EXPECT_TRUE(settings.data.truncate);
  Json shorter = given;
  shorter["epochs"] = 2;
  shorter["batch_size"] = 4;
  EXPECT_EQ(make_settings(shorter, "test").trainer.steps, 0);
  EXPECT_EQ(make_settings(shorter, "test").trainer.batch_size, 4);
  shorter["task"] = "answer";
  test::expect_error(ErrorKind::kArgument, {"bigbird-imdb", "classify", "answer"},
                     [&] { make_settings(shorter, "test"); });
  shorter["preset"] = "bert-squad2";
  EXPECT_EQ(make_settings(shorter, "test").data.stride, 128);
}

TEST_F(FineTune, EveryPresetIsForOneTask) {
  for (const std::string_view name : preset_names()) {
    int accepted = 0;
    for (const std::string_view task : task_names()) {
      const Json given = {{"task", task}, {"model", "m"}, {"train_data", {"d"}}, {"preset", name}, {"steps", 1}};
      try {
        EXPECT_EQ(make_settings(given, "test").trainer.steps, 1) << name;
        ++accepted;
      } catch (const Error& error) {
        EXPECT_NE(std::string_view(error.what()).find(name), std::string_view::npos) << error.what();
      }
    }
    // Those of encoder-decoders are for tasks that learn from pairs, which are no fine-tuning (pair_run_test.cpp).
    const bool pairs = name.starts_with("transformer-") || name == "bigbird-pegasus" || name == "led";
    const int expected = pairs ? 0 : 1;
    EXPECT_EQ(accepted, name == "none" ? static_cast<int>(task_names().size()) : expected) << name;
  }
}

TEST_F(FineTune, FoldsHoldEveryRecordOutOnce) {
  Json given = shuffled();
  given["eval_data"] = Json::array();
  given["folds"] = 5;
  std::int64_t held_out = 0;
  for (std::int64_t fold = 0; fold < 5; ++fold) {
    given["fold"] = fold;
    const Prepared prepared = prepare(make_settings(given, "test"));
    EXPECT_EQ(prepared.training.examples + prepared.held_out.examples, 12);
    EXPECT_GE(prepared.held_out.examples, 2);
    held_out += prepared.held_out.examples;
  }
  EXPECT_EQ(held_out, 12);
  train(given);
  Measurement measurement;
  measurement.task = "classify";
  measurement.directory = folder_ / "run";
  measurement.data = {(test::kFineTuning / "pairs.csv").string()};
  measurement.settings = make_settings(given, "test").data;
  EXPECT_LE(measure(measurement).read.examples, 3);
  given["fold"] = 5;
  test::expect_error(ErrorKind::kArgument, {"fold 5", "folds 5"}, [&] { make_settings(given, "test"); });
  given["fold"] = 0;
  given["eval_data"] = {"x"};
  test::expect_error(ErrorKind::kArgument, {"folds", "eval_data"}, [&] { make_settings(given, "test"); });
}

TEST_F(FineTune, PlansAreChecked) {
  const auto refuse = [&](const char* field, const Json& value, std::initializer_list<std::string_view> words) {
    Json given = shuffled();
    given[field] = value;
    try {
      make_settings(given, "flags");
      ADD_FAILURE() << field << " was taken";
    } catch (const Error& error) {
      for (const std::string_view word : words) {
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
      }
    }
  };
  refuse("model", "", {"flags", "model"});
  refuse("train_data", Json::array(), {"train_data"});
  refuse("task", "sing", {"task", "classify", "'sing'"});
  refuse("attention", {"full", "full"}, {"attention"});
  refuse("learn_rate", 1, {"flags", "learn_rate"});
  refuse("steps", 0, {"epochs", "steps", "minutes"});
}

}  // namespace
}  // namespace weft::fine_tuning
