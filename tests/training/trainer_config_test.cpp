// SPDX-License-Identifier: Apache-2.0
// Rules of a TrainerConfig and a TextConfig, and its way through training.json.
#include "weft/training/trainer_config.h"

#include <filesystem>
#include <limits>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "training/fake_task.h"
#include "weft/core/cpu.h"
#include "weft/training/run_state.h"
#include "weft/training/text_config.h"

namespace weft::training {
namespace {

void expect_config_error(std::initializer_list<std::string_view> words,
                         const std::function<void(TrainerConfig&)>& change) {
  TrainerConfig config = test::fake_config(100);
  change(config);
  test::expect_error(ErrorKind::kArgument, words, [&] { check_config(config, "flags"); });
}

void expect_text_error(std::initializer_list<std::string_view> words, const std::function<void(TextConfig&)>& change) {
  TextConfig config;
  config.train_text = {"/text"};
  check_config(config, "flags");
  change(config);
  test::expect_error(ErrorKind::kArgument, words, [&] { check_config(config, "flags"); });
}

TEST(TrainerConfig, NamesTheFieldAndTheRule) {
  check_config(test::fake_config(1), "flags");
  test::expect_error(ErrorKind::kArgument, {"flags", "train_text"}, [] { check_config(TextConfig(), "flags"); });
  expect_config_error({"steps", "minutes"}, [](TrainerConfig& c) { c.steps = 0; });
  expect_config_error({"steps", "minutes"}, [](TrainerConfig& c) { c.minutes = 1; });
  expect_text_error({"context", "at least 1"}, [](TextConfig& c) { c.context = 0; });
  expect_config_error({"schedule", "cosine", "'step'"}, [](TrainerConfig& c) { c.schedule = "step"; });
  expect_config_error({"dtype", "'float16'"}, [](TrainerConfig& c) { c.dtype = "float16"; });
  expect_config_error({"warmup_steps", "101"}, [](TrainerConfig& c) { c.warmup_steps = 101; });
  expect_config_error({"beta2"}, [](TrainerConfig& c) { c.beta2 = 1.0; });
  expect_config_error({"minutes"}, [](TrainerConfig& c) { c.minutes = std::nan(""); });
  expect_config_error({"inverse_sqrt", "warm-up"}, [](TrainerConfig& c) {
    c.schedule = "inverse_sqrt";
    c.warmup_ratio = 0;
  });
  expect_config_error({"warmup_steps", "minutes", "warmup_ratio"}, [](TrainerConfig& c) {
    c.steps = 0;
    c.minutes = 1;
    c.warmup_steps = 10;
  });
}

// Numbers whose products would leave 63 bits: each is refused by name.
TEST(TrainerConfig, BoundsWhatIsCounted) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  expect_config_error({"gradient_accumulation", "at most 1048576"},
                      [](TrainerConfig& c) { c.gradient_accumulation = kHuge; });
  expect_config_error({"batch_size", "at most 1048576"}, [](TrainerConfig& c) { c.batch_size = kHuge / 2; });
  expect_text_error({"context", "at most"}, [](TextConfig& c) { c.context = kHuge; });
  expect_config_error({"steps", "at most"}, [](TrainerConfig& c) { c.steps = kHuge; });
  expect_config_error({"warmup_steps", "at most"}, [](TrainerConfig& c) { c.warmup_steps = kHuge; });
  expect_config_error({"minutes", "at most"}, [](TrainerConfig& c) {
    c.steps = 0;
    c.minutes = 1e300;
  });
  expect_config_error({"batch_size times gradient_accumulation times processes", "1048576 times 4096 times 2"},
                      [](TrainerConfig& c) {
                        c.batch_size = 1 << 20;
                        c.gradient_accumulation = 1 << 12;
                        c.processes = 2;
                      });
}

TEST(TrainerConfig, ResolvesWhatDependsOnThePlace) {
  TextConfig text;
  text.train_text = {"some/../text.txt", "/absolute"};
  EXPECT_EQ(resolved(text).train_text[0], (std::filesystem::current_path() / "text.txt").string());
  EXPECT_EQ(resolved(text).train_text[1], "/absolute");
  TrainerConfig config = test::fake_config(10);
  config.dtype = "auto";
  const TrainerConfig done = resolved(config);
  EXPECT_EQ(done.dtype, has_fast_bfloat16() ? "bfloat16" : "float32");
  EXPECT_EQ(resolved_dtype("bfloat16"), "bfloat16");
}

// A run of an earlier version has settings of text in training.json, whatever its task; `task` says whose others are.
TEST(TrainerConfig, IsReadBesideTheTextsFields) {
  const formats::Json earlier = {{"weft_version", "0.1.0"}, {"train_text", {"/a"}}, {"context", 32}, {"steps", 9}};
  EXPECT_EQ(config_from_json(earlier, "training.json").steps, 9);
  formats::Json given = {{"eval_text", {"/b"}}, {"log_every", 2}};
  const TextConfig text = resumed_text(earlier, given, "training.json");
  EXPECT_EQ(text.context, 32);
  EXPECT_EQ(text.eval_text, std::vector<std::string>{"/b"});
  EXPECT_EQ(given, formats::Json({{"log_every", 2}}));
  given = {{"context", 64}};
  test::expect_error(ErrorKind::kArgument, {"training.json", "context", "32", "64"},
                     [&] { resumed_text(earlier, given, "training.json"); });
}

TEST(TrainerConfig, GoesThroughTrainingJson) {
  TrainerConfig config = test::fake_config(123);
  config.learning_rate = 0.1 + 0.2;
  config.processes = 1;  // as resolved
  const formats::Json json = training_json(config, test::FakeTask());
  EXPECT_EQ(json.begin().key(), "weft_version");
  EXPECT_EQ(formats::to_json(config_from_json(json, "training.json")), formats::to_json(config));
  formats::Json wrong = json;
  wrong["lerning_rate"] = 1;
  test::expect_error(ErrorKind::kFormat, {"training.json", "lerning_rate"},
                     [&] { config_from_json(wrong, "training.json"); });
}

}  // namespace
}  // namespace weft::training
