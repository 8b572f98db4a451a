// SPDX-License-Identifier: Apache-2.0
// The tiny models and data sets of tests/fixtures/fine_tuning as runs of a second, and what a run left behind.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/text_files.h"
#include "support/temporary_directory.h"
#include "training/fake_task.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/fine_tuning/fine_tune.h"

namespace weft::test {

inline const std::filesystem::path kFineTuning = std::filesystem::path(WEFT_TEST_DATA_DIR) / "fine_tuning";

class SmallTask : public ::testing::Test {
 protected:
  /// A directory with the fixture's model and the tokeniser that it was made with.
  std::string model(const std::string& name) const {
    const std::filesystem::path directory = folder_ / name;
    std::filesystem::create_directories(directory);
    for (const char* file : {"config.json", "model.safetensors"}) {
      std::filesystem::copy_file(kFineTuning / name / file, directory / file,
                                 std::filesystem::copy_options::skip_existing);
    }
    const std::filesystem::path tokenizer = std::filesystem::path(WEFT_TEST_DATA_DIR) / "tokenizers/bert";
    for (const char* file : {"vocab.txt", "tokenizer_config.json"}) {
      std::filesystem::copy_file(tokenizer / file, directory / file, std::filesystem::copy_options::skip_existing);
    }
    return directory.string();
  }

  /// The shape of a fresh encoder of a family that goes with the fixtures' tokeniser.
  static models::EncoderConfig small_shape(const std::string& family) {
    models::EncoderConfig config = models::base_config(family);
    config.vocab_size = 89;
    config.hidden_size = 16;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 2;
    config.intermediate_size = 24;
    config.max_position_embeddings = 40;
    config.type_vocab_size = 2;
    config.pad_token_id = 0;
    models::update_fields(config, {{"attention_window", {8}}, {"block_size", 4}, {"num_random_blocks", 1}},
                          "small task");
    return config;
  }

  /// A directory whose model has no head: `transformers` writes that as BertModel.
  std::string headless() const {
    models::EncoderConfig config = checkpoint::load_encoder_config(kFineTuning / "classify");
    config.architectures.clear();
    checkpoint::save_encoder(folder_ / "headless", models::make_encoder(config, models::Head::kNone, 7),
                             model("classify"));
    return (folder_ / "headless").string();
  }

  /// The settings of tests/fixtures/make/fine_tuning.py: ten steps, each over all examples.
  formats::Json fields(const std::string& task, const std::string& model_name, const std::string& data) const {
    const std::string file = (kFineTuning / data).string();
    return {{"task", task},        {"model", model(model_name)}, {"train_data", {file}},    {"eval_data", {file}},
            {"steps", 10},         {"learning_rate", 0.03},      {"schedule", "constant"},  {"warmup_ratio", 0.0},
            {"weight_decay", 0.1}, {"batch_size", 64},           {"checkpoint_minutes", 0}, {"dtype", "float32"},
            {"threads", 1}};
  }

  formats::Json expected(const std::string& name) const {
    return formats::read_json(kFineTuning / name / "expected.json");
  }

  training::TrainResult train(const formats::Json& fields, const std::string& run = "run") const {
    return fine_tuning::fine_tune(folder_ / run, fine_tuning::prepare(fine_tuning::make_settings(fields, "test")));
  }

  /// The run's losses beside the reference's. Both compute in float32 in orders of their own, and Adam's first steps
  /// amplify a gradient's last bits where it is nearly zero; an error in a mask, a weight or a rate is 1e-2 and more.
  void expect_losses(const formats::Json& reference, const std::string& run = "run") const {
    const std::vector<double> losses = logged_losses(folder_ / run);
    ASSERT_EQ(losses.size(), reference.size());
    for (std::size_t step = 0; step < losses.size(); ++step) {
      EXPECT_NEAR(losses[step], reference[step].get<double>(), 2e-4) << "step " << step + 1;
    }
  }

  /// Figures of the last evaluation beside the reference's; counts agree exactly, means of float32 outputs to 2e-4.
  static void expect_figures(const formats::Json& reference, const formats::Json& found) {
    for (const auto& [name, value] : reference.items()) {
      ASSERT_TRUE(found.contains(name)) << name << " in " << found.dump();
      EXPECT_NEAR(found[name].get<double>(), value.get<double>(), 2e-4) << name;
    }
  }

  TemporaryDirectory folder_;
};

}  // namespace weft::test
