// SPDX-License-Identifier: Apache-2.0
// A flag that would change nothing in the run is refused before the run begins; what a preset or a run's own file
// brings is not.
#include "weft/runs/train/conditions.h"

#include <gtest/gtest.h>

#include <string>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/fine_tuning/settings.h"

namespace weft::runs {
namespace {

using formats::Json;

const std::string kModels = WEFT_TEST_DATA_DIR "/earlier";

TrainOptions asked(const std::string& task, const Json& given) {
  TrainOptions options;
  options.out = "run";
  options.task = task;
  options.given = given;
  return options;
}

void expect_refused(const std::string& message, const std::string& task, const Json& given) {
  test::expect_error(ErrorKind::kArgument, {message}, [&] { decide(asked(task, given)); });
}

TEST(TrainConditions, OfTheOptimiserAndItsSchedule) {
  expect_refused("relative_steps is for optimizer adafactor, found 'adamw'", "lm", {{"relative_steps", true}});
  expect_refused("beta1 is for optimizer adamw or lamb", "lm", {{"beta1", 0.8}, {"optimizer", "adafactor"}});
  expect_refused("min_learning_rate_ratio is for schedule cosine, linear or inverse_sqrt, found 'constant'", "lm",
                 {{"min_learning_rate_ratio", 0.1}, {"schedule", "constant"}});
  expect_refused("warmup_ratio is not read beside warmup_steps, which is 5", "lm",
                 {{"warmup_ratio", 0.1}, {"warmup_steps", 5}});
}

TEST(TrainConditions, OfWhatIsReadAndHeldOut) {
  expect_refused("eval_every has no effect without eval_text, eval_images or eval_audio", "lm", {{"eval_every", 5}});
  expect_refused("audio_channel has no effect without train_audio", "lm",
                 {{"audio_channel", "first"}, {"train_text", {"a.txt"}}});
  expect_refused("hidden_sentences has no effect without contrastive_weight", "mlm", {{"hidden_sentences", 0.2}});
}

TEST(TrainConditions, OfTheModel) {
  expect_refused("rope_theta is for position_embedding rotary, found 'alibi'", "lm",
                 {{"rope_theta", 500.0}, {"position_embedding", "alibi"}});
  expect_refused("compression_rate has no effect without compressed_memory_length", "lm", {{"compression_rate", 4}});
  expect_refused("stream_tokens has no effect without memory_length", "lm",
                 {{"stream_tokens", 64}, {"model", kModels + "/decoder"}});
  expect_refused("stream_tokens has no effect without memory_length", "mlm",
                 {{"stream_tokens", 64}, {"model", kModels + "/masked"}});
  decide(asked("lm", {{"stream_tokens", 64}, {"memory_length", 32}}));
}

TEST(TrainConditions, OfExamplesAndOfPairs) {
  expect_refused("batch_size is not read beside batch_tokens, which is 512", "classify",
                 {{"batch_size", 4}, {"batch_tokens", 512}, {"model", kModels + "/masked"}});
  expect_refused("batch_size is not read beside batch_tokens, which is 4096", "translate",
                 {{"batch_size", 4}, {"train_data", {"a.tsv"}}});
  expect_refused("source_field has no effect without train_data or eval_data", "translate",
                 {{"source_field", "de"}, {"train_source", {"a"}}, {"train_target", {"b"}}});
  expect_refused("eval_beams has no effect without generated_examples", "denoise",
                 {{"eval_beams", 3}, {"train_text", {"a"}}, {"eval_text", {"b"}}});
}

TEST(TrainConditions, OfNoise) {
  const auto refused = [](const std::string& message, Json given) {
    given["train_text"] = {"a"};
    expect_refused(message, "denoise", given);
  };
  refused("gap_score_noise is for gap_choice ind-orig or ind-uniq, found 'lead'",
          {{"noise", "gap-sentences"}, {"gap_choice", "lead"}, {"gap_score_noise", 0.2}});
  refused("gap_choice is for noise gap-sentences, found 'spans'", {{"noise", "spans"}, {"gap_choice", "lead"}});
  refused("noise_span is for noise infill, permute-infill or spans, found 'mask'",
          {{"noise", "mask"}, {"noise_span", 2.0}});
  refused("found 'rotate'", {{"noise", "rotate"}, {"noise_share", 0.2}});
  expect_refused("noise is for task denoise, found 'translate'", "translate",
                 {{"noise", "spans"}, {"train_data", {"a.tsv"}}});
  refused("eval_every has no effect without eval_text or eval_data", {{"eval_every", 5}});
}

// config.json must not name a head that has learned nothing.
TEST(TrainConditions, OfAlignments) {
  for (const char* name : {"alignment_layer", "alignment_head", "alignment_weight"}) {
    const std::string message = std::string(name) + " has no effect without alignments or alignment_field";
    expect_refused(message, "translate", {{name, 1}, {"train_data", {"a.tsv"}}});
  }
  expect_refused("alignment_layer has no effect", "translate", {{"alignment_layer", 0}, {"train_data", {"a.tsv"}}});
  expect_refused("alignment_weight is for task translate or summarize", "denoise",
                 {{"alignment_weight", 1}, {"train_text", {"a"}}});
  decide(asked("translate", {{"alignment_layer", -1}, {"steps", 1}, {"train_data", {"a.tsv"}}}));
  decide(asked("translate", {{"alignment_head", 1}, {"alignment_field", "links"}, {"train_data", {"a.tsv"}}}));
}

TEST(TrainConditions, AConfigFileIsReadAsFlagsAreUnlessARunWroteIt) {
  const test::TemporaryDirectory folder;
  TrainOptions options = asked("lm", Json::object());
  options.config_file = (folder / "config.json").string();
  Json fields = {{"optimizer", "adafactor"}, {"beta1", 0.8}, {"steps", 3}};
  write_file_atomically(options.config_file, fields.dump());
  test::expect_error(ErrorKind::kArgument, {"beta1 is for optimizer adamw or lamb"}, [&] { decide(options); });
  fields["weft_version"] = "0.1.0";
  write_file_atomically(options.config_file, fields.dump());
  EXPECT_EQ(decide(options).size(), 1U);
}

TEST(TrainConditions, WhatIsGivenReplacesWhatAPresetBringsForTheSame) {
  const Json given = {{"task", "wikihop"}, {"warmup_ratio", 0.3}};
  EXPECT_TRUE(fine_tuning::preset_fields("longformer-wikihop", {{"task", "wikihop"}}, "here").contains("warmup_steps"));
  EXPECT_FALSE(fine_tuning::preset_fields("longformer-wikihop", given, "here").contains("warmup_steps"));
}

}  // namespace
}  // namespace weft::runs
