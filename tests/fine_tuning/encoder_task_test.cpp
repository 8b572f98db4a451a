// SPDX-License-Identifier: Apache-2.0
// What the trainer sees of an encoder: losses that are functions of step and part, parameters that all learn, and a
// model that comes back from disk as it was.
#include "weft/fine_tuning/encoder_task.h"

#include <ATen/core/grad_mode.h>

#include "fine_tuning/small_task.h"
#include "support/expect_error.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using formats::Json;

class EncoderTaskTest : public test::SmallTask {
 protected:
  // A fresh encoder of a family with the fixtures' tokeniser, and a task over the pairs in batches of four.
  Json family(const std::string& name, const Json& changes = Json::object()) const {
    models::EncoderConfig config = small_shape(name);
    config.hidden_dropout_prob = 0.2;
    const fs::path directory = folder_ / name;
    checkpoint::save_encoder(directory, models::make_encoder(config, models::Head::kNone, 3), model("classify"));
    Json given = fields("classify", "classify", "pairs.csv");
    given["model"] = directory.string();
    given["pair_field"] = "other";
    given["batch_size"] = 4;
    given.update(changes);
    return given;
  }
  static Prepared prepared(const Json& given) { return prepare(make_settings(given, "test")); }
};

TEST_F(EncoderTaskTest, ALossIsAFunctionOfStepAndPart) {
  const Json given = family("bert", {{"gradient_accumulation", 2}});
  const Prepared first = prepared(given);
  const Prepared second = prepared(given);
  first.task->set_training(true);
  second.task->set_training(true);
  const double early = first.task->loss(0, 1).item<double>();
  const double late = first.task->loss(5, 0).item<double>();
  EXPECT_EQ(second.task->loss(5, 0).item<double>(), late);
  EXPECT_EQ(second.task->loss(0, 1).item<double>(), early);
  EXPECT_EQ(second.task->loss(0, 1).item<double>(), early);
  EXPECT_NE(second.task->loss(0, 0).item<double>(), early);
}

TEST_F(EncoderTaskTest, DropoutIsOnInTrainingOnly) {
  const Prepared run = prepared(family("bert"));
  run.task->set_training(true);
  const double dropped = run.task->loss(0, 0).item<double>();
  run.task->set_training(false);
  EXPECT_NE(run.task->loss(0, 0).item<double>(), dropped);
}

TEST_F(EncoderTaskTest, EveryParameterOfEveryFamilyLearns) {
  for (const char* name : {"bert", "roberta", "longformer", "big_bird", "nystromformer"}) {
    const Prepared run = prepared(family(name));
    run.task->set_training(true);
    run.task->loss(0, 0).backward();
    for (const auto& [parameter, value] : run.task->parameters()) {
      EXPECT_TRUE(value.grad().defined()) << name << " " << parameter;
    }
  }
}

TEST_F(EncoderTaskTest, RecomputationChangesNothing) {
  const Prepared plain = prepared(family("bert"));
  const Prepared saving = prepared(family("bert", {{"gradient_checkpointing", true}}));
  plain.task->set_training(true);
  saving.task->set_training(true);
  plain.task->loss(3, 0).backward();
  saving.task->loss(3, 0).backward();
  const auto expected = plain.task->parameters();
  const auto found = saving.task->parameters();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    // The same operations in the same order.
    EXPECT_TRUE(found[i].second.grad().equal(expected[i].second.grad())) << found[i].first;
  }
}

TEST_F(EncoderTaskTest, AnotherPatternGoesWithTheModel) {
  const Prepared run = prepared(family("bert", {{"attention", {"window(4)"}}}));
  fs::create_directories(folder_ / "saved");
  run.task->save(folder_ / "saved");
  EXPECT_EQ(formats::read_json(folder_ / "saved/config.json")["attention"], Json{"window(4)"});
  const double before = run.task->loss(0, 0).item<double>();
  EXPECT_NE(before, prepared(family("bert")).task->loss(0, 0).item<double>());
  {
    const at::NoGradGuard no_grad;
    for (const auto& [name, value] : run.task->parameters()) {
      value.detach().zero_();
    }
  }
  EXPECT_NE(run.task->loss(0, 0).item<double>(), before);
  run.task->load(folder_ / "saved");
  EXPECT_EQ(run.task->loss(0, 0).item<double>(), before);
}

TEST_F(EncoderTaskTest, KnowsItsTokensAndItsData) {
  const Json given = family("bert");
  const Prepared run = prepared(given);
  std::int64_t tokens = 0;
  for (std::int64_t step = 0; step < run.epoch_steps; ++step) {
    tokens += run.task->tokens(step, 0);
  }
  EXPECT_EQ(tokens, run.task->objective().rows(Split::kTraining).tokens());
  EXPECT_EQ(run.task->data_identity()["rows"], 12);
  EXPECT_EQ(prepared(given).task->data_identity(), run.task->data_identity());
  // One label changed.
  test::write_text(folder_ / "other.csv", "text,other,label\nthe loom,we see,good\nhello,it,bad\n");
  test::write_text(folder_ / "same.csv", "text,other,label\nthe loom,we see,bad\nhello,it,good\n");
  Json one = given;
  Json two = given;
  one["train_data"] = {(folder_ / "other.csv").string()};
  two["train_data"] = {(folder_ / "same.csv").string()};
  one["eval_data"] = two["eval_data"] = Json::array();
  EXPECT_NE(prepared(one).task->data_identity(), prepared(two).task->data_identity());
  EXPECT_TRUE(prepared(one).task->evaluate([](std::int64_t, std::int64_t) {}).empty());
}

TEST_F(EncoderTaskTest, FreezesAndSlowsDownLayersByName) {
  Json given = family("bert", {{"freeze", {"encoder.*"}}, {"steps", 2}});
  train(given, "frozen");
  const auto begin = checkpoint::load_encoder(folder_ / "bert", {.head = models::Head::kNone});
  const auto end = checkpoint::load_encoder(folder_ / "frozen", {.head = models::Head::kNone});
  for (const auto& parameter : begin->named_parameters()) {
    if (parameter.key().starts_with("encoder.")) {
      EXPECT_TRUE(end->named_parameters()[parameter.key()].equal(parameter.value())) << parameter.key();
    }
  }
  given["freeze"] = {"decoder.*"};
  test::expect_error(ErrorKind::kArgument, {"decoder"}, [&] { train(given, "other"); });
  given["freeze"] = Json::array();
  given["layer_decay"] = 0.5;
  EXPECT_GT(train(given, "slower").loss, 0.0);
}

}  // namespace
}  // namespace weft::fine_tuning
